// Readers of damaged files: each gives a value or an error, and nothing else. APSIS_MUTATIONS says how many
// files a reader gets, APSIS_MUTATION_SEED which.

#include <gtest/gtest.h>
#include <unistd.h>

#include <apsis/apsis.hpp>

#include "io/folder.hpp"
#include "io/npy.hpp"
#include "io/zip.hpp"
#include "mutation.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::Files;
using apsis::testing::Mutation;

struct Two {
  Array a, b;
};

/// Reads mutations of `whole` and of each of the others. Anything thrown but an Error fails.
template <class Read>
void fuzz(const std::vector<std::string>& originals, const Read& read) {
  const std::uint64_t first = apsis::testing::mutation_seed();
  const std::size_t count = apsis::testing::mutation_count(1500);
  // A file in memory: what is measured is the reader.
  const std::string path = "/dev/shm/apsis-fuzz-" + std::to_string(getpid());
  std::size_t refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Mutation mutate(seed);
    const std::string& one = originals[mutate.below(originals.size())];
    const std::string bytes = mutate(one, originals[mutate.below(originals.size())]);
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      read(path);
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& e) {
      ADD_FAILURE() << "seed " << seed << ": " << e.what();
    }
  }
  std::remove(path.c_str());
  std::printf("seeds %llu to %llu: %zu of %zu refused\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1), refused, count);
  EXPECT_GT(refused, count / 10);
}

TEST(FuzzFiles, Npy) {
  Files files;
  std::vector<std::string> originals;
  for (const Array& a :
       {array({1., 2.}), ones({2, 3, 4}, f32), zeros({2, 0}), array({true, false}), zeros({}, i8)}) {
    save_npy(files / "a.npy", a);
    originals.push_back(bytes_of(files / "a.npy"));
  }
  originals.push_back(originals[1]);
  std::string& fortran = originals.back();
  fortran.replace(fortran.find("False"), 5, "True ");
  fuzz(originals, [](const std::string& path) {
    const Array a = load_npy(path);
    // Reads each element.
    if (!is_complex(a.dtype())) a.to_vector<double>();
  });
}

TEST(FuzzFiles, Npz) {
  Files files;
  std::vector<std::string> originals;
  const Two like{array({1., 2.}), ones({2, 3}, i32)};
  save(files / "a.npz", like);
  originals.push_back(bytes_of(files / "a.npz"));
  save(files / "a.npz", std::vector<Array>(20, zeros({3}, f32)));
  originals.push_back(bytes_of(files / "a.npz"));
  fuzz(originals, [&](const std::string& path) { load(path, like); });
  // Behind the checksum: an archive of damaged files, and a damaged list of contents of whole ones.
  fuzz(originals, [&](const std::string& path) {
    const std::string bytes = bytes_of(path);
    for (const auto& [name, entry] : detail::zip_entries(bytes, path)) detail::npy_header(entry, name);
  });
}

TEST(FuzzFiles, Csv) {
  fuzz(
      {"a,b,c\n1,2,3\n4.5,-6e7,nan\n", "# x\n\n\"a, b\",\"c \"\"d\"\"\"\r\n1,inf\r\n\"2\",3", "x\n1\n2\n3\n"},
      [](const std::string& path) {
        const Table t = read_csv(path);
        for (const std::string& name : t.names) t.column(name).to_vector<double>();
      });
}

}  // namespace
