# apsis_program(NAME SOURCE...): an executable on the public API. The module that holds LLVM is opened at the first
# compile and so is nobody's link dependency: it is built along with whatever may open it.
function(apsis_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE apsis::apsis apsis_options)
  if(TARGET apsis_llvm)
    add_dependencies(${name} apsis_llvm)
  endif()
endfunction()
