#include "codegen/compile/compile.hpp"

#include <algorithm>

#include "base/exit.hpp"
#include "codegen/builder/loader.hpp"
#include "codegen/builder/messages.hpp"
#include "codegen/compile/manner.hpp"
#include "codegen/emit/list_access.hpp"
#include "codegen/emit/region.hpp"
#include "codegen/support/cancel.hpp"
#include "core/memory.hpp"
#include "core/sizes.hpp"
#include "passes/pipeline.hpp"

namespace apsis::detail {
namespace {

/// Writes the entry function of a program: (context, inputs, outputs) → status.
void write_entry(Lowering& lowering, const Graph& graph) {
  Builder& b = lowering.b;
  const Type parameters[] = {pointer_type, pointer_type, pointer_type};
  const Type results[] = {{Dtype::I32, 1}};
  b.begin(b.declare("entry", parameters, results, true));
  lowering.enter(b.pointer_parameter(0));
  Pointer in = b.pointer_parameter(1), out = b.pointer_parameter(2);
  auto element = [&](Pointer table, std::size_t i) {
    return b.load_pointer(b.offset(table, static_cast<std::int64_t>(i * sizeof(void*))));
  };

  Region region(lowering, graph);
  Lowering::Pieces inputs(lowering);
  for (ValueId v = 0; v < graph.input_count(); ++v) {
    inputs.next();
    const Aval& aval = graph.aval(v);
    Place place;
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous(aval.shape());
    place.base = element(in, v);
    if (aval.is_list()) {
      place.kind = Place::Kind::List;
      place.offset = b.load_element(b.offset(place.base, offsetof(ListValue, offset)), Dtype::I64);
      place.base = b.load_pointer(b.offset(place.base, offsetof(ListValue, list)));
    }
    if (region.in_registers(aval)) {
      place.elements = region.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    region.bind_input(v, std::move(place));
  }
  inputs.end();
  std::vector<Place> targets;
  Lowering::Pieces outputs(lowering);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    outputs.next();
    Place place;
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous(graph.aval(graph.outputs()[i]).shape());
    place.base = element(out, i);
    targets.push_back(place);
    region.hint_output(i, place);
  }
  outputs.end();
  region.allow_recomputing();
  region.run();
  std::vector<Place> tables;  // alive to the end
  Lowering::Pieces written(lowering);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    written.next();
    const bool unpack = region.output(i).kind == Place::Kind::List && region.output(i).lanes > 1;
    if (unpack) tables.push_back(lists_of_lanes(region, region.output(i), graph.aval(graph.outputs()[i])));
    const Place& made = unpack ? tables.back() : region.output(i);
    if (made.kind == Place::Kind::List) {
      b.set_lanes(1);
      const Pointer value = region.overwrite(targets[i]).base();
      b.store_pointer(b.offset(value, offsetof(ListValue, list)), made.base);
      b.store(b.offset(value, offsetof(ListValue, offset)), made.offset);
    } else {
      region.write_output(i, targets[i]);
    }
  }
  written.end();
  b.set_lanes(1);
  Value ok = b.constant(Dtype::I32, 0);
  b.return_values({&ok, 1});
  b.end();
}

}  // namespace

ProgramImage compile_image(const Graph& given, const CodegenOptions& options) {
  const GraphRef rewritten = run_passes(given);
  const Graph& graph = *rewritten;
  const Manner manner = manner_of(graph, options);
  std::unique_ptr<Builder> builder = make_builder(manner.builder);
  Lowering lowering(*builder, manner.lowering, graph);
  write_entry(lowering, graph);

  ProgramImage image;
  image.object = builder->object({.level = manner.level});
  image.kernels = std::move(lowering.kernels);
  image.scratch_bytes = lowering.arena.peak();
  image.equations = lowering.equations;
  image.loops = lowering.loops;
  image.functions = lowering.told_functions();
  return image;
}

std::shared_ptr<const Program> load_program(const Graph& graph, const ProgramImage& image) {
  auto program = std::make_shared<Program>();
  program->code = load_object(image.object);
  program->entry = reinterpret_cast<Entry>(program->code->find("entry"));
  if (!program->entry) throw InternalError("a compiled object has no entry");
  program->code_bytes = program->code->size();
  program->scratch_bytes = image.scratch_bytes;
  program->kernels = image.kernels;
  program->equations = image.equations;
  program->loops = image.loops;
  program->functions = image.functions;
  for (ValueId v = 0; v < graph.input_count(); ++v) program->inputs.push_back(graph.aval(v));
  for (ValueId v : graph.outputs()) program->outputs.push_back(graph.aval(v));
  return program;
}

std::shared_ptr<const Program> compile(const Graph& graph, const CodegenOptions& options) {
  return load_program(graph, compile_image(graph, options));
}

std::string code_text(const Graph& given, const CodegenOptions& options) {
  const ExitLease lease;
  if (!lease) return {};  // the process ends
  const GraphRef rewritten = run_passes(given);
  const Graph& graph = *rewritten;
  const Manner manner = manner_of(graph, options);
  std::unique_ptr<Builder> builder = make_builder(manner.builder);
  Lowering lowering(*builder, manner.lowering, graph);
  write_entry(lowering, graph);
  return builder->text();
}

std::vector<Array> run(const Program& program, std::span<const Array> inputs, const Graph* graph) try {
  APSIS_ASSERT(inputs.size() == program.inputs.size());
  CallState state;
  state.graph = graph;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Array> results(program.outputs.size());
  std::vector<ListArgument> in_lists(inputs.size()), out_lists(results.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    APSIS_ASSERT(inputs[i].shape() == program.inputs[i].shape() &&
                 inputs[i].dtype() == program.inputs[i].dtype());
    bool list = program.inputs[i].is_list();
    if (list) in_lists[i].take(state.lists.store(), inputs[i]);
    in.push_back(list ? in_lists[i].value() : data_of(inputs[i]));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Aval& aval = program.outputs[i];
    if (!aval.is_list()) results[i] = allocate(aval);
    out.push_back(aval.is_list() ? out_lists[i].value() : mutable_data<void>(results[i]));
  }
  struct Scratch {
    void* data;
    std::size_t bytes;
    explicit Scratch(std::size_t n) : data(allocate_block(n)), bytes(n) {}
    ~Scratch() { free_block(data, bytes); }
  } scratch(static_cast<std::size_t>(program.scratch_bytes));
  CallContext context{scratch.data, cancel_flag, program.kernels.data(), &state};
  raise(static_cast<Status>(program.entry(&context, in.data(), out.data())), state);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (program.outputs[i].is_list()) results[i] = out_lists[i].give(program.outputs[i]);
  return results;
} catch (const std::bad_alloc&) {
  if (!graph) throw;
  fail_memory(program, *graph);
}

constinit thread_local const std::uint32_t* cancel_flag = &never_cancelled;

void fail_cancelled() { fail(messages::cancelled, {}); }

namespace {

struct LargestValue {
  Aval aval{Dtype::Bool, {}};
  Loc made;
  void look_at(const Graph& graph) {
    for (const Eqn& e : graph.eqns()) {
      for (std::uint32_t r = 0; r < e.result_count; ++r) {
        const Aval& one = graph.aval(e.first_result + r);
        if (one.bytes() > aval.bytes()) aval = one, made = e.loc;
      }
      each_region(e.params, [&](const Graph& region) { look_at(region); });
    }
  }
};

}  // namespace

void fail_memory(const Program& program, const Graph& graph) {
  LargestValue largest;
  largest.look_at(graph);
  const auto text = [](std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  fail(messages::no_memory_for_program,
       {text(program.scratch_bytes), text(machine_memory()), to_string(largest.aval),
        text(largest.aval.bytes())},
       largest.made);
}

void raise_failure(Status status, const CallState& state) {
  if (state.error) std::rethrow_exception(state.error);
  if (status == Status::Cancelled) fail(messages::cancelled, {});
  throw InternalError("a program returned a status that nobody knows");
}

}  // namespace apsis::detail
