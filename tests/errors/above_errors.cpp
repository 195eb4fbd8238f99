#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

struct Pair {
  Array a, b;
};
struct Single {
  Array a;
};

/// A file of this process, gone with it.
struct File {
  std::string path;
  explicit File(const std::string& name) : path("/tmp/apsis_errors_" + name) {}
  File(const std::string& name, const std::string& bytes) : File(name) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~File() { std::filesystem::remove(path); }
};

void load_cut_off() {
  File file("cut.npz");
  save(file.path, Single{array({1., 2.})});
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) / 2);
  load(file.path, Single{array({1., 2.})});
}
/// Loads an archive in whose list of contents four bytes (two, but for sizes) say something else.
void load_changed(std::size_t at, int value) {
  File file("changed.npz");
  save(file.path, Single{array({1.})});
  std::string bytes;
  {
    std::ifstream in(file.path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::memcpy(bytes.data() + bytes.find("PK\x01\x02") + at, &value, at >= 20 ? 4 : 2);
  std::ofstream(file.path, std::ios::binary) << bytes;
  load(file.path, Single{array({1.})});
}
template <class Saved, class Like>
void reload(const Saved& saved, const Like& like) {
  File file("again.npz");
  save(file.path, saved);
  load(file.path, like);
}
void read_table(const std::string& text) {
  File file("table.csv", text);
  read_csv(file.path).column("z");
}
void load_elements(const std::string& type, char version = 1) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  File file("text.npy",
            std::string("\x93NUMPY") + version + '\0' + '\x76' + '\0' + header + "\n" + std::string(12, 'a'));
  load_npy(file.path);
}
/// Draws with this script in gnuplot's place, or without any.
void draw_with(const std::string& folder, const char* script) {
  struct Restore {
    std::string path = std::getenv("PATH"), folder;
    ~Restore() {
      setenv("PATH", path.c_str(), 1);
      std::filesystem::remove_all(folder);
    }
  } restore{.folder = folder};
  if (script) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/gnuplot") << script;
    std::filesystem::permissions(folder + "/gnuplot", std::filesystem::perms::owner_all);
  }
  setenv("PATH", (folder + (script ? ":" + restore.path : "")).c_str(), 1);
  Figure{}.line(array({1., 2.}), array({1., 2.}), "").save("/tmp/apsis_errors.png");
}
/// More arrays than a .npz file can list.
void save_too_much() {
  std::vector<std::uint8_t> byte(1);
  struct Many {
    std::vector<Array> parts;
  };
  Many many{std::vector<Array>(65536, array(std::span<const std::uint8_t>(byte), {1}))};
  save("/tmp/apsis_errors_many.npz", many);
}

/// A tensor of another library, of one number.
Array taken_over(std::int32_t device, dlpack::DataType type, std::uint32_t major, Loc loc) {
  float number = 1;
  dlpack::ManagedTensorVersioned tensor{
      {major, 0}, nullptr, nullptr, 0, {&number, {device, 0}, 0, type, nullptr, nullptr, 0}};
  return from_dlpack(&tensor, loc);
}

}  // namespace

APSIS_PROVOKES(jacobian_empty,
               "[Jacobian] there is no block: nothing in the result, or nothing in the argument, is floating",
               Jacobian<Pair, Pair>{}.matrix())
APSIS_PROVOKES(layer_input, "[Linear] the layer takes an array [2], got f64[3]; for a batch of them use vmap",
               nn::make_linear({.in = 2, .out = 1}, random::key(0))(array({1., 2., 3.})))
APSIS_PROVOKES(layer_size, "[make_linear] in = 0 must be at least 1",
               nn::make_linear({.in = 0, .out = 1}, random::key(0)))
APSIS_PROVOKES(layer_divides, "[make_group_norm] channels = 5 must be divisible by groups = 2",
               nn::make_group_norm({.groups = 2, .channels = 5}))
APSIS_PROVOKES(orthogonal_rank, "[orthogonal] a shape of [3] is too short: weights have at least two axes",
               nn::initializers::orthogonal()(random::key(0), {3}))
APSIS_PROVOKES(orthogonal_axes, "[orthogonal] outputs are counted by one axis: give one in FanAxes",
               nn::initializers::orthogonal(1., nn::FanAxes{.out = {0, 1}})(random::key(0), {3, 3}))
APSIS_PROVOKES(delta_orthogonal_sizes,
               "[delta_orthogonal] 4 inputs and 2 outputs: there must be at least as many outputs as inputs",
               nn::initializers::delta_orthogonal()(random::key(0), {3, 4, 2}))
APSIS_PROVOKES(fan_axes,
               "[initializers] a shape of [3] has no axis -2, so there is no number of inputs or outputs: "
               "weights have two axes or more, biases begin with zeros or uniform, or say which axes in "
               "FanAxes",
               nn::initializers::he_normal()(random::key(0), {3}))
APSIS_PROVOKES(dropout_p,
               "[Dropout] p = 1.000000 must be at least 0 and less than 1: it is the fraction that becomes 0",
               nn::Dropout{.p = 1.}(array({1., 2.}), random::key(0)))
APSIS_PROVOKES(dropout_key,
               "[Dropout] in training a key is needed: call it with one, or use inference_mode(model), where "
               "nothing is dropped",
               nn::Dropout{}(array({1., 2.})))
APSIS_PROVOKES(
    batch_norm_axis,
    "[BatchNorm] in training the layer needs a batch, and no vmap around has an axis named \"batch\": "
    "call it in vmap(model, {.axis_name = \"batch\"}), or use inference_mode(model) for single samples",
    const nn::BatchNorm norm = nn::make_batch_norm({.channels = 2});
    norm(array({1., 2.}), norm.init_state()))
APSIS_PROVOKES(embedding_index,
               "[Embedding] takes an integer scalar, got i32[2]; for several integers use vmap",
               nn::make_embedding({.count = 3, .size = 2}, random::key(0))(array({1, 2})))
APSIS_PROVOKES(spectral_weight,
               "[SpectralNorm] a weight of f64[2] has no singular values: it needs two axes or more",
               nn::SpectralNorm{nn::Linear{ones({2})}}.init_state(random::key(0)))
APSIS_PROVOKES(shared_shapes,
               "[make_shared] the place holds f64[2], what is to be put there is f64[3]: both must be alike",
               nn::make_shared(
                   Pair{ones({3}), ones({2})}, [](Pair& p) -> Array& { return p.b; },
                   [](const Pair& p) { return p.a; }))
APSIS_PROVOKES(attention_shape,
               "[dot_product_attention] query is f64[4,3,2]; it needs a multiple of the key's 2 heads",
               nn::dot_product_attention(ones({4, 3, 2}), ones({5, 2, 2}), ones({5, 2, 2})))
APSIS_PROVOKES(attention_mask,
               "[MultiheadAttention] mask is bool[2,3]: give booleans of shape [3, 3], queries by keys, or "
               "[1, 3, 3], one such for each head",
               const auto mha = nn::make_multihead_attention({.num_heads = 1, .query_size = 2},
                                                             random::key(0));
               const Array x = ones({3, 2}); mha(x, x, x, {.mask = ones({2, 3}, boolean)}))
APSIS_PROVOKES(attention_cache,
               "[MultiheadAttention] a cache for 2 places cannot take 3 more, 0 are filled: give init_cache "
               "a greater capacity",
               const auto mha = nn::make_multihead_attention({.num_heads = 1, .query_size = 2},
                                                             random::key(0));
               const Array x = ones({3, 2}); mha.attend(mha.heads(x, x, x), mha.init_cache(2)))
APSIS_PROVOKES(output_padding,
               "[make_conv_transpose] output_padding = [2] must be less than stride = [2] along each axis",
               nn::make_conv_transpose1d({.stride = 2, .output_padding = 2}, random::key(0)))
APSIS_PROVOKES(transpose_mode,
               "[make_conv_transpose] the padding mode is Zeros, or Circular with padding \"SAME\" or "
               "\"SAME_LOWER\" and without output_padding",
               nn::make_conv_transpose1d({.padding_mode = nn::PaddingMode::Reflect}, random::key(0)))
APSIS_PROVOKES(pool_input,
               "[MaxPool] the layer takes channels and one spatial axis or more, got f64[3]; for channels of "
               "one entry each use expand_dims",
               nn::MaxPool{}(ones({3})))
APSIS_PROVOKES(pool_padding,
               "[MaxPool] a padding of 3 is wider than the window [2]: a window would hold nothing of the "
               "array",
               nn::MaxPool{.kernel_size = 2, .padding = 3}(ones({1, 4})))
APSIS_PROVOKES(pool_target, "[AdaptiveAvgPool] f64[1,4] has fewer entries than target_shape = [5]",
               nn::AdaptiveAvgPool{.target_shape = 5}(ones({1, 4})))
APSIS_PROVOKES(
    mlp_sizes,
    "[make_mlp] in = 2, out = 1 and width = 8 must be positive, and depth = -1 not negative: it is the "
    "number of hidden layers",
    nn::make_mlp({.in = 2, .out = 1, .width = 8, .depth = -1}, random::key(0)))
APSIS_PROVOKES(activation_axis,
               "[softmax] f64[2] has no axis 1; give one from 0 up to its number of axes, or a negative one, "
               "counted from the end",
               softmax(array({1., 2.}), 1))
APSIS_PROVOKES(cannot_read, "[io] /nowhere/table.csv cannot be read: No such file or directory",
               read_csv("/nowhere/table.csv"))
APSIS_PROVOKES(cannot_write, "[io] /nowhere/a.npy cannot be written: No such file or directory",
               save_npy("/nowhere/a.npy", array({1.})))
APSIS_PROVOKES(file_damaged,
               "[load] /tmp/apsis_errors_cut.npz is damaged: it has no list of contents; it is not a .npz "
               "file, or was cut off; save it again",
               load_cut_off())
APSIS_PROVOKES(file_compressed,
               "[load] /tmp/apsis_errors_changed.npz: a.npy is compressed; save with numpy.savez, which does "
               "not compress",
               load_changed(10, 8))
APSIS_PROVOKES(file_encrypted,
               "[load] /tmp/apsis_errors_changed.npz: a.npy is encrypted; save with numpy.savez, which does "
               "not encrypt",
               load_changed(8, 1))
APSIS_PROVOKES(
    file_zip64,
    "[load] /tmp/apsis_errors_changed.npz is a ZIP64 archive, for more than 4 GiB or 65534 arrays; "
    "save parts of it, or arrays by themselves with numpy.save",
    load_changed(20, -1))
APSIS_PROVOKES(file_too_large,
               "[save] /tmp/apsis_errors_many.npz would be larger than 4 GiB, or of more than 65534 arrays, "
               "the limits of this format; save parts of the tree",
               save_too_much())
APSIS_PROVOKES(
    npy_version,
    "[load] /tmp/apsis_errors_text.npy is a .npy file of version 7.0; versions 1.0 to 3.0 are read: "
    "save it again with numpy.save",
    load_elements("<f8", 7))
APSIS_PROVOKES(object_elements,
               "[load] /tmp/apsis_errors_text.npy holds Python objects, which only Python can read; convert "
               "them in NumPy, by astype(float)",
               load_elements("|O"))
APSIS_PROVOKES(unknown_element,
               "[load] /tmp/apsis_errors_text.npy holds elements of type <U3, for which there is no dtype; "
               "convert them in NumPy",
               load_elements("<U3"))
APSIS_PROVOKES(save_empty,
               "[save_npy] the array is empty: it has neither dtype nor shape; give it a value first",
               save_npy("/tmp/apsis_errors_empty.npy", Array{}))
APSIS_PROVOKES(
    save_name,
    "[save] /tmp/apsis_errors_name.npz: the name of the leaf tree[\"" + std::string(194, 'n') +
        "… has 70008 bytes, or holds a NUL byte; names have at most 65535 without any: choose other keys",
    save("/tmp/apsis_errors_name.npz", std::map<std::string, Array>{{std::string(70'000, 'n'), ones({2})}}))
APSIS_PROVOKES(save_twice,
               "[save] /tmp/apsis_errors_twice.npz: two leaves are called tree.a; choose other keys",
               detail::save_leaves("/tmp/apsis_errors_twice.npz", {"a", "a"},
                                   std::vector<Array>(2, ones({1})), Loc::here()))
APSIS_PROVOKES(save_traced,
               "[save] an array is traced (f64[1]): it has no value here; save outside jit and vmap",
               jit([](const Array& x) {
                 save("/tmp/apsis_errors_traced.npz", Single{x});
                 return x;
               })(array({1.})))
APSIS_PROVOKES(
    record_missing,
    "[load] /tmp/apsis_errors_again.npz has no array b.npy for tree.b (f64[1]); it holds a.npy. Was "
    "it saved from another structure?",
    reload(Single{array({1.})}, Pair{array({1.}), array({2.})}))
APSIS_PROVOKES(record_mismatch,
               "[load] /tmp/apsis_errors_again.npz: array a.npy is f64[1] in the file, and tree.a is f64[2]; "
               "pass a tree of the shapes and dtypes that were saved",
               reload(Single{array({1.})}, Single{array({1., 2.})}))
APSIS_PROVOKES(record_unknown,
               "[load] /tmp/apsis_errors_again.npz has an array b.npy that the tree has no place for; was it "
               "saved from another structure?",
               reload(Pair{array({1.}), array({2.})}, Single{array({1.})}))
APSIS_PROVOKES(csv_fields,
               "[read_csv] /tmp/apsis_errors_table.csv:2: the line has 1 fields, the table 2 columns; fields "
               "are separated by commas",
               read_table("x,y\n1\n"))
APSIS_PROVOKES(csv_number,
               "[read_csv] /tmp/apsis_errors_table.csv:3: column y holds \"two\", which is no number; a "
               "missing value is written nan",
               read_table("x,y\n1,2\n1,two\n"))
APSIS_PROVOKES(csv_range,
               "[read_csv] /tmp/apsis_errors_table.csv:2: column x holds 1e999, which f64 cannot hold; scale "
               "the column",
               read_table("x\n1e999\n"))
APSIS_PROVOKES(csv_quote,
               "[read_csv] /tmp/apsis_errors_table.csv:2: a quote is not closed; a field in quotes is \"…\", "
               "with quotes inside it written twice",
               read_table("x\n\"1\n"))
APSIS_PROVOKES(csv_nul,
               "[read_csv] /tmp/apsis_errors_table.csv:1 holds a NUL byte: it is no text, or of two bytes a "
               "character; save it as UTF-8",
               read_table(std::string("x\0\n1\n", 5)))
APSIS_PROVOKES(csv_header,
               "[read_csv] /tmp/apsis_errors_table.csv:1: the first line holds numbers only; write a line of "
               "column names above it, in quotes if they are numbers",
               read_table("1,2\n3,4\n"))
APSIS_PROVOKES(csv_twice,
               "[read_csv] /tmp/apsis_errors_table.csv:1: two columns are called \"x\"; rename one",
               read_table("x,x\n3,4\n"))
APSIS_PROVOKES(csv_empty, "[read_csv] /tmp/apsis_errors_table.csv has no line of column names",
               read_table("# nothing\n"))
APSIS_PROVOKES(csv_column, "[Table] there is no column z; the columns are x, y", read_table("x,y\n1,2\n"))
APSIS_PROVOKES(
    plot_dimensions,
    "[Figure] y of the series \"a\" is f64[2,1]; a series takes arrays of one dimension, such as a "
    "column table(range(), 0)",
    Figure{}.line(array({1., 2.}), ones({2, 1}), "a"))
APSIS_PROVOKES(plot_complex,
               "[Figure] y of the series \"a\" is c128[2]; draw real(...), imag(...) or abs(...) of it",
               Figure{}.line(array({1., 2.}), ones({2}, c128), "a"))
APSIS_PROVOKES(plot_sizes, "[Figure] the series \"a\" has 2 x and 3 y values; give as many of each",
               Figure{}.line(array({1., 2.}), array({1., 2., 3.}), "a"))
APSIS_PROVOKES(plot_mark, "[Figure] the mark \"a\" stands at inf; give it a finite place",
               Figure{}.mark(std::numeric_limits<double>::infinity(), "a"))
APSIS_PROVOKES(plot_map_sizes,
               "[Figure] a map has values of f64[2,3], over 2 x and 3 y values: the values must be [ys, xs]",
               Figure{}.map(arange(2) * 1., arange(3) * 1., ones({2, 3}), ""))
APSIS_PROVOKES(
    plot_map_grid,
    "[Figure] the map \"a\" needs at least two x and two y, each in finite even steps, as linspace "
    "makes them",
    Figure{}.map(array({1., 2., 4.}), array({1., 2.}), ones({2, 3}), "a"))
APSIS_PROVOKES(plot_map_log,
               "[Figure] /tmp/apsis_errors.png: a map has even steps, which log_y cannot show; give the map "
               "log(y), without log_y",
               Figure{.log_y = true}
                   .map(array({1., 2.}), array({1., 2.}), ones({2, 2}), "")
                   .save("/tmp/apsis_errors.png"))
APSIS_PROVOKES(plot_maps,
               "[Figure] /tmp/apsis_errors.png has 2 maps, and one scale of colours; draw one map a figure, "
               "and save_stacked several",
               Figure{}
                   .map(array({1., 2.}), array({1., 2.}), ones({2, 2}), "")
                   .map(array({1., 2.}), array({1., 2.}), ones({2, 2}), "")
                   .save("/tmp/apsis_errors.png"))
APSIS_PROVOKES(plot_empty,
               "[Figure] there is nothing to draw in /tmp/apsis_errors_empty.png: add a series first",
               Figure{}.save("/tmp/apsis_errors_empty.png"))
APSIS_PROVOKES(
    plot_nothing,
    "[Figure] no series of /tmp/apsis_errors.png has a value that can be drawn: values must be finite "
    "and below 1e300; look at the values",
    Figure{}.line(zeros({0}), zeros({0}), "").save("/tmp/apsis_errors.png"))
APSIS_PROVOKES(
    plot_pixels,
    "[Figure] /tmp/apsis_errors.png has a figure of 10 by 620 pixels; sides must be at least 50 and "
    "together at most 32000 each way and 100 million pixels in all",
    Figure{.width = 10}.line(array({1.}), array({1.}), "").save("/tmp/apsis_errors.png"))
APSIS_PROVOKES(
    plot_format,
    "[Figure] /tmp/apsis_errors.jpg: the end of the name says the format, .png, .svg or .pdf; rename it",
    Figure{}.line(array({1.}), array({1.}), "").save("/tmp/apsis_errors.jpg"))
APSIS_PROVOKES(plot_failed,
               "[Figure] gnuplot could not draw /tmp/apsis_errors.png: it ended with status 3. It said: no "
               "terminal",
               draw_with("/tmp/apsis_errors_path", "#!/bin/sh\necho no terminal >&2; exit 3\n"))
APSIS_PROVOKES(
    plot_program,
    "[Figure] /tmp/apsis_errors.png is drawn by gnuplot, which is not in PATH; install it (package "
    "gnuplot-nox)",
    draw_with("/nowhere", nullptr))

APSIS_PROVOKES(
    dlpack_device,
    "[from_dlpack] the tensor is in memory of the device type 2, which the processor cannot read; copy it "
    "to the CPU first",
    taken_over(2, {2, 32, 1}, 1, Loc::here()))
APSIS_PROVOKES(
    dlpack_dtype,
    "[from_dlpack] elements of type code 2 with 32 bits and 4 lanes are of no dtype here; convert them "
    "first",
    taken_over(1, {2, 32, 4}, 1, Loc::here()))
APSIS_PROVOKES(
    dlpack_version,
    "[from_dlpack] the tensor is of DLPack 2.0, later than 1; ask its library for version 1, or for a "
    "DLManagedTensor",
    taken_over(1, {2, 32, 1}, 2, Loc::here()))

APSIS_PROVOKES(
    plot_solution,
    "[Figure] a solution whose times are f64[2,1] cannot be drawn: give one solve outside of jit, whose "
    "ts is a vector; of many under vmap take one by an index",
    solution_figure(vmap([](const Array& y0) {
      return diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Tsit5{}, 0., 1., 0.5, y0);
    })(array({1., 2.}))))
APSIS_PROVOKES(plot_steps, "[step_figure] the solve kept no steps: ask for them by .saveat = {.dense = true}",
               step_figure(diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Tsit5{}, 0.,
                                       1., 0.5, 1.)))
