#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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
void load_compressed() {
  File file("packed.npz");
  save(file.path, Single{array({1.})});
  std::string bytes;
  {
    std::ifstream in(file.path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  bytes[bytes.find("PK\x01\x02") + 10] = 8;  // "deflated"
  std::ofstream(file.path, std::ios::binary) << bytes;
  load(file.path, Single{array({1.})});
}
template <class Saved, class Like>
void reload(const Saved& saved, const Like& like) {
  File file("again.npz");
  save(file.path, saved);
  load(file.path, like);
}
void read_table(const char* text) {
  File file("table.csv", text);
  read_csv(file.path).column("z");
}
void load_strings() {
  std::string header = "{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  File file("text.npy",
            std::string("\x93NUMPY\x01\x00", 8) + '\x76' + '\0' + header + "\n" + std::string(12, 'a'));
  load_npy(file.path);
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

}  // namespace

APSIS_PROVOKES(jacobian_empty,
               "[Jacobian] there is no block: nothing in the result, or nothing in the argument, is floating",
               Jacobian<Pair, Pair>{}.matrix())
APSIS_PROVOKES(linear_input,
               "[Linear] the layer takes a vector of 2, got f64[3]; for a batch of vectors use vmap",
               nn::make_linear({.in = 2, .out = 1}, random::key(0))(array({1., 2., 3.})))
APSIS_PROVOKES(
    mlp_sizes,
    "[make_mlp] in = 2, out = 1 and width = 8 must be positive, and depth = -1 not negative: it is the "
    "number of hidden layers",
    nn::make_mlp({.in = 2, .out = 1, .width = 8, .depth = -1}, random::key(0)))
APSIS_PROVOKES(layer_size, "[make_linear] in = 0 and out = 1 must both be positive",
               nn::make_linear({.in = 0, .out = 1}, random::key(0)))
APSIS_PROVOKES(parameter_not_floating,
               "[minimize] parameter 0 is i32[2]: all must be floating; convert with astype, or keep it out "
               "of the parameters",
               minimize([](const Array& x) { return sum(x * 1.); }, array({1, 2})))
APSIS_PROVOKES(minimize_option, "[minimize] gradient_tolerance is nan: give a number, 0 or more",
               minimize([](const Array& x) { return sum(x * x); }, array({1., 2.}),
                        {.gradient_tolerance = std::nan("")}))
APSIS_PROVOKES(no_parameters, "[minimize] the start holds no arrays",
               minimize([](const Single&) { return Array(1.); }, Single{}))
APSIS_PROVOKES(cannot_read, "[io] /nowhere/table.csv cannot be read: No such file or directory",
               read_csv("/nowhere/table.csv"))
APSIS_PROVOKES(cannot_write, "[io] /nowhere/a.npy cannot be written: No such file or directory",
               save_npy("/nowhere/a.npy", array({1.})))
APSIS_PROVOKES(file_damaged,
               "[load] /tmp/apsis_errors_cut.npz is damaged: it has no list of contents; it is not a .npz "
               "file, or was cut off; save it again",
               load_cut_off())
APSIS_PROVOKES(file_compressed,
               "[load] /tmp/apsis_errors_packed.npz: a.npy is compressed; save with numpy.savez, which does "
               "not compress",
               load_compressed())
APSIS_PROVOKES(file_too_large,
               "[save] /tmp/apsis_errors_many.npz would be larger than 4 GiB, or of more than 65535 arrays, "
               "the limits of this format; save parts of the tree",
               save_too_much())
APSIS_PROVOKES(unknown_element,
               "[load] /tmp/apsis_errors_text.npy holds elements of type <U3, for which there is no dtype; "
               "convert them in NumPy",
               load_strings())
APSIS_PROVOKES(save_traced,
               "[save] an array is traced (f64[1]): it has no value here; save outside jit and vmap",
               jit([](const Array& x) {
                 save("/tmp/apsis_errors_traced.npz", Single{x});
                 return x;
               })(array({1.})))
APSIS_PROVOKES(record_missing,
               "[load] /tmp/apsis_errors_again.npz has no array b.npy, which the tree needs (f64[1]); was it "
               "saved from another structure?",
               reload(Single{array({1.})}, Pair{array({1.}), array({2.})}))
APSIS_PROVOKES(record_mismatch,
               "[load] /tmp/apsis_errors_again.npz: array a.npy is f64[1] in the file and f64[2] in the tree",
               reload(Single{array({1.})}, Single{array({1., 2.})}))
APSIS_PROVOKES(record_unknown,
               "[load] /tmp/apsis_errors_again.npz has an array b.npy that the tree has no place for; was it "
               "saved from another structure?",
               reload(Pair{array({1.}), array({2.})}, Single{array({1.})}))
APSIS_PROVOKES(csv_fields,
               "[read_csv] /tmp/apsis_errors_table.csv:2: the line has 1 fields, the table 2 columns",
               read_table("x,y\n1\n"))
APSIS_PROVOKES(csv_number,
               "[read_csv] /tmp/apsis_errors_table.csv:3: column y holds \"two\", which is no number",
               read_table("x,y\n1,2\n1,two\n"))
APSIS_PROVOKES(csv_empty, "[read_csv] /tmp/apsis_errors_table.csv has no line of column names",
               read_table("# nothing\n"))
APSIS_PROVOKES(csv_column, "[Table] there is no column z; the columns are x, y", read_table("x,y\n1,2\n"))
APSIS_PROVOKES(plot_sizes, "[Figure] a series has 2 x values and 3 y values",
               Figure{}.line(array({1., 2.}), array({1., 2., 3.}), ""))
APSIS_PROVOKES(plot_map_sizes,
               "[Figure] a map has values of f64[2,3], over 2 x and 3 y values: the values must be [ys, xs]",
               Figure{}.map(arange(2) * 1., arange(3) * 1., ones({2, 3}), ""))
APSIS_PROVOKES(plot_empty,
               "[Figure] there is nothing to draw in /tmp/apsis_errors_empty.png: add a series first",
               Figure{}.save("/tmp/apsis_errors_empty.png"))

namespace {

/// Draws where no gnuplot is to be found.
void draw_without_gnuplot() {
  std::string path = std::getenv("PATH");
  struct Restore {
    const std::string& path;
    ~Restore() { setenv("PATH", path.c_str(), 1); }
  } restore{path};
  setenv("PATH", "/nowhere", 1);
  Figure{}.line(array({1., 2.}), array({1., 2.}), "").save("/tmp/apsis_errors_plot.png");
}

}  // namespace

APSIS_PROVOKES(plot_failed,
               "[Figure] gnuplot could not draw /tmp/apsis_errors_plot.png; is it installed (package "
               "gnuplot-nox)? It said: sh: 1: gnuplot: not found\n",
               draw_without_gnuplot())
