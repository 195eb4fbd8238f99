# What the library links besides LLVM. Found here, once, so that the targets are visible in every directory.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)

# OpenBLAS in its serial build: large products are split over our own threads, and a second pool would fight them.
# Debian keeps the variants in directories of their own, and /etc/alternatives decides which one the plain name means,
# so the directory is named here and goes into the run path.
find_path(APSIS_OPENBLAS_INCLUDE cblas.h
          PATHS /usr/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-serial
          PATH_SUFFIXES openblas-serial openblas NO_DEFAULT_PATH)
find_path(APSIS_OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial openblas)
find_library(APSIS_OPENBLAS_LIBRARY openblas
             PATHS /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-serial NO_DEFAULT_PATH)
find_library(APSIS_OPENBLAS_LIBRARY openblas)
if(NOT APSIS_OPENBLAS_INCLUDE OR NOT APSIS_OPENBLAS_LIBRARY)
  message(FATAL_ERROR "OpenBLAS was not found (package libopenblas-serial-dev)")
endif()
add_library(apsis_openblas INTERFACE)
target_include_directories(apsis_openblas SYSTEM INTERFACE ${APSIS_OPENBLAS_INCLUDE})
target_link_libraries(apsis_openblas INTERFACE ${APSIS_OPENBLAS_LIBRARY})
cmake_path(GET APSIS_OPENBLAS_LIBRARY PARENT_PATH APSIS_OPENBLAS_DIRECTORY)

# KLU of SuiteSparse, for sparse LU. A build without it refuses linear::SparseLU, and does all else.
find_path(APSIS_KLU_INCLUDE klu.h PATH_SUFFIXES suitesparse)
find_library(APSIS_KLU_LIBRARY klu)
if(NOT APSIS_KLU_INCLUDE OR NOT APSIS_KLU_LIBRARY)
  message(STATUS "KLU was not found (package libsuitesparse-dev): there will be no sparse LU")
endif()
