// Programs kept on disk: found again by this process and by others, and by nobody when anything differs.

#include "runtime/disk_cache.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <list>

#include "apsis/ops/extend.hpp"
#include "base/threads.hpp"
#include "ir/graph.hpp"
#include "mutation.hpp"
#include "ops/lax.hpp"
#include "runtime/child.hpp"
#include "runtime/program_file.hpp"
#include "runtime/program_key.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using detail::CodegenOptions, detail::ProgramImage;
using Bytes = std::vector<std::byte>;

/// Keeps programs in a folder of its own while it lives.
struct KeptIn {
  Folder folder;
  explicit KeptIn(std::int64_t max_bytes = DiskCacheOptions{}.max_bytes) {
    set_disk_cache({.directory = folder.path(), .max_bytes = max_bytes});
  }
  ~KeptIn() { set_disk_cache({.on = false}); }
};

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}
void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// A program of its own for each number.
Array scaled(int number, const Array& x) {
  return jit([](const Array& y, int n) { return sin(y) * (n + 0.5) + y; })(x, number);
}

/// Programs of all kinds: straight code, fused loops, kernels, loops, lanes, errors.
void run_all_kinds() {
  Array xs = linspace(-1., 2., 37), few = array({3., 1., 2.});
  const auto tower = [](const Array& x) { return exp(sin(x) * 2.5) + tanh(x); };
  expect_compiled_as_interpreted(jit(tower), few);
  expect_compiled_as_interpreted(jit(tower), xs);
  expect_compiled_as_interpreted(jit([](const Array& x) { return sort(x) + cumsum(x); }), xs);
  const auto solve = [](const Array& x) {
    return while_loop([](const Array& y) { return y < 100.; }, [](const Array& y) { return y * 1.75 + 0.25; },
                      x);
  };
  expect_compiled_as_interpreted(jit(solve), array(1.));
  expect_compiled_as_interpreted(jit(vmap(solve)), abs(xs));
  expect_compiled_as_interpreted(jit(grad([&](const Array& x) { return solve(x); })), array(1.5));
  static constexpr Message negative{"negative", "x must not be negative"};
  const auto checked = jit([](const Array& x) {
    error_if(x < 0., negative);
    return x * 1.;
  });
  EXPECT_EQ(checked(array(2.)).item<double>(), 2.);
  EXPECT_THROW(checked(array(-2.)), Error);
}

bool code_generator_is_loaded() {
  std::ifstream maps("/proc/self/maps");
  std::string text{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_NE(text.find("libapsis.so"), text.npos);
  return text.find("libapsis_llvm") != text.npos || text.find("libLLVM") != text.npos;
}

TEST(DiskCacheChild, DISABLED_CompilesAllKinds) {
  run_all_kinds();
  EXPECT_GT(cache_state().compiled, 5);
  EXPECT_EQ(cache_state().loaded, 0);
}
TEST(DiskCacheChild, DISABLED_LoadsAllKinds) {
  run_all_kinds();
  EXPECT_EQ(cache_state().compiled, 0);
  EXPECT_GT(cache_state().loaded, 5);
  EXPECT_FALSE(code_generator_is_loaded());
}
TEST(DiskCache, ASecondProcessGeneratesNoCode) {
  Folder folder;
  { Child("DiskCacheChild.DISABLED_CompilesAllKinds", {"APSIS_DISK_CACHE=" + folder.path()}); }
  { Child("DiskCacheChild.DISABLED_LoadsAllKinds", {"APSIS_DISK_CACHE=" + folder.path()}); }
}

TEST(DiskCacheChild, DISABLED_IsOffByItself) {
  EXPECT_EQ(cache_state().directory, "");
  EXPECT_EQ(cache_state().why_off, "");
  scaled(1, array(1.));
  EXPECT_EQ(cache_state().compiled, 1);
}
TEST(DiskCacheChild, DISABLED_IsAtTheUsualPlace) {
  const std::string want = std::string(getenv("XDG_CACHE_HOME")) + "/apsis";
  EXPECT_EQ(cache_state().directory, want);
  EXPECT_EQ(cache_state().max_bytes, 12345678);
  struct stat status;
  ASSERT_EQ(stat(want.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(status.st_uid, geteuid());
}
TEST(DiskCacheChild, DISABLED_SaysWhyItIsOff) {
  EXPECT_EQ(cache_state().directory, "");
  EXPECT_EQ(cache_state().why_off, "'cache' is no absolute path");
}
TEST(DiskCacheChild, DISABLED_RefusesItsLimit) {
  EXPECT_EQ(cache_state().directory, "");
  const std::string limit = getenv("APSIS_DISK_CACHE_BYTES");
  EXPECT_EQ(cache_state().why_off,
            limit == "-1" ? "a limit of -1 bytes leaves no room for programs"
                          : "APSIS_DISK_CACHE_BYTES is '" + limit + "', which is no number of bytes");
}
TEST(DiskCache, ALimitThatIsNoneIsRefused) {
  Folder folder;
  for (const char* limit : {"10MB", "", "1e9", "many", "99999999999999999999", "-1"})
    Child("DiskCacheChild.DISABLED_RefusesItsLimit",
          {"APSIS_DISK_CACHE=" + folder.path() + "/new", std::string("APSIS_DISK_CACHE_BYTES=") + limit});
  EXPECT_TRUE(folder.files().empty());
}
TEST(DiskCache, TheEnvironmentSaysWhere) {
  Folder folder;
  { Child("DiskCacheChild.DISABLED_IsOffByItself", {"XDG_CACHE_HOME=" + folder.path()}); }
  {
    Child("DiskCacheChild.DISABLED_IsOffByItself",
          {"XDG_CACHE_HOME=" + folder.path(), "APSIS_DISK_CACHE=off"});
  }
  EXPECT_TRUE(folder.files().empty());
  { Child("DiskCacheChild.DISABLED_SaysWhyItIsOff", {"APSIS_DISK_CACHE=cache"}); }
  Child(
      "DiskCacheChild.DISABLED_IsAtTheUsualPlace",
      {"XDG_CACHE_HOME=" + folder.path() + "/new", "APSIS_DISK_CACHE=on", "APSIS_DISK_CACHE_BYTES=12345678"});
}

TEST(DiskCache, LoadsWhatWasForgotten) {
  KeptIn kept;
  Array x = array({0.25, -2.}), first = scaled(7, x);
  clear_program_cache();
  const CacheState before = cache_state();
  expect_same_bits(scaled(7, x), first);
  EXPECT_EQ(cache_state().compiled, before.compiled);
  EXPECT_EQ(cache_state().loaded, before.loaded + 1);
  clear_disk_cache();
  clear_program_cache();
  EXPECT_TRUE(kept.folder.files().empty());
  expect_same_bits(scaled(7, x), first);
  EXPECT_EQ(cache_state().compiled, before.compiled + 1);
}

TEST(DiskCache, DamagedFilesAreMisses) {
  KeptIn kept;
  Array x = array({0.25, -2., 1.}), first = scaled(8, x);
  ASSERT_EQ(kept.folder.files().size(), 1u);
  const std::filesystem::path file = kept.folder.files()[0];
  const Bytes whole = read_file(file);
  auto expect_miss = [&](const Bytes& damaged) {
    write_file(file, damaged);
    clear_program_cache();
    const CacheState before = cache_state();
    expect_same_bits(scaled(8, x), first);
    EXPECT_EQ(cache_state().compiled, before.compiled + 1);
    EXPECT_EQ(cache_state().loaded, before.loaded);
    EXPECT_EQ(read_file(file), whole) << "replaced by a good one";
  };
  expect_miss({});
  expect_miss({whole.begin(), whole.end() - 1});
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  expect_miss(longer);
  Bytes flipped = whole;
  flipped[flipped.size() / 2] ^= std::byte{1};
  expect_miss(flipped);
}

TEST(DiskCache, WhatIsNoFileOfItsIsAMiss) {
  KeptIn kept;
  Array x = array({0.25, -2., 1.}), first = scaled(9, x), other = scaled(10, x);
  ASSERT_EQ(kept.folder.files().size(), 2u);
  clear_disk_cache();
  clear_program_cache();
  expect_same_bits(scaled(9, x), first);
  ASSERT_EQ(kept.folder.files().size(), 1u);
  const std::filesystem::path file = kept.folder.files()[0];
  const Bytes whole = read_file(file);
  clear_program_cache();
  expect_same_bits(scaled(10, x), other);
  const auto files = kept.folder.files();
  const Bytes of_another = read_file(files[0] == file ? files[1] : files[0]);
  auto expect_miss = [&] {
    clear_program_cache();
    const CacheState before = cache_state();
    expect_same_bits(scaled(9, x), first);
    EXPECT_EQ(cache_state().compiled, before.compiled + 1);
    std::filesystem::remove_all(file);
  };
  write_file(file, of_another);
  expect_miss();
  std::filesystem::create_directory(file);
  expect_miss();
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // nobody writes to it
  expect_miss();
  std::filesystem::create_symlink(file, file);
  expect_miss();
  std::filesystem::create_symlink("/dev/zero", file);
  expect_miss();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Mutation mutate(seed);
    const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
    const std::string damaged = mutate(text, text);
    if (damaged == text) continue;
    const auto* begin = reinterpret_cast<const std::byte*>(damaged.data());
    write_file(file, {begin, begin + damaged.size()});
    expect_miss();
  }
}

TEST(ProgramFile, AnyDamageIsNoticed) {
  const std::string key = "a key";
  ProgramImage image;
  for (int i = 0; i < 200; ++i) image.object.push_back(std::byte(i * 37));
  image.scratch_bytes = 4096;
  const Bytes whole = detail::encode_program(key, image);
  std::optional<ProgramImage> back = detail::decode_program(whole, key);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->object, image.object);
  EXPECT_EQ(back->scratch_bytes, 4096);
  EXPECT_FALSE(detail::decode_program(whole, "b key"));
  EXPECT_FALSE(detail::decode_program(whole, "a key "));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(detail::decode_program({whole.data(), i}, key)) << "truncated to " << i;
    for (int bit = 0; bit < 8; ++bit) {
      Bytes damaged = whole;
      damaged[i] ^= std::byte(1 << bit);
      EXPECT_FALSE(detail::decode_program(damaged, key)) << "bit " << bit << " of byte " << i;
    }
  }
}

void expect_kernels_read_back(const std::string& text, bool any_packed) {
  const ProgramImage image = detail::compile_image(*detail::parse_graph(text));
  ASSERT_FALSE(image.kernels.empty());
  std::optional<ProgramImage> back = detail::decode_program(detail::encode_program("k", image), "k");
  ASSERT_TRUE(back);
  ASSERT_EQ(back->kernels.size(), image.kernels.size());
  std::uint32_t packed = 0;
  for (std::size_t i = 0; i < image.kernels.size(); ++i) {
    const detail::Kernel &got = back->kernels[i], &want = image.kernels[i];
    EXPECT_EQ(got.op, want.op);
    EXPECT_TRUE(got.params == want.params);
    EXPECT_EQ(got.in, want.in);
    EXPECT_EQ(got.out, want.out);
    EXPECT_EQ(got.packed, want.packed);
    packed |= got.packed;
  }
  EXPECT_EQ(packed != 0, any_packed);
}

TEST(ProgramFile, KernelsReadBack) {
  expect_kernels_read_back(lower([](const Array& x) { return sort(x); }, linspace(0., 1., 40)).text(), false);
  const auto solve = [](const Array& a, const Array& b) {
    return linalg::cho_solve(linalg::cho_factor(a, {.lower = true}), b);
  };
  expect_kernels_read_back(lower(vmap(solve), ones({1000, 8, 8}), ones({1000, 8})).text(), true);
}

TEST(DiskCache, AnotherBuildsProgramIsAMiss) {
  KeptIn kept;
  Array x = array({0.5}), first = scaled(9, x);
  const std::filesystem::path file = kept.folder.files()[0];
  const auto graph =
      detail::parse_graph(lower([](const Array& y, int n) { return sin(y) * (n + 0.5) + y; }, x, 9).text());
  const std::string key = detail::program_key(*graph, {.parallel = detail::machine_threads() > 1});
  const Bytes whole = read_file(file);
  std::optional<ProgramImage> image = detail::decode_program(whole, key);
  ASSERT_TRUE(image) << "the key is the same whoever staged the graph";
  // A file of the same name, whole, but made by another build.
  std::string foreign = key;
  foreign[foreign.find(' ') + 1] ^= 1;
  write_file(file, detail::encode_program(foreign, *image));
  clear_program_cache();
  const CacheState before = cache_state();
  expect_same_bits(scaled(9, x), first);
  EXPECT_EQ(cache_state().compiled, before.compiled + 1);
  EXPECT_EQ(read_file(file), whole);
}

TEST(ProgramKey, HasAllThatDecidesTheCode) {
  const auto graph = detail::parse_graph(lower([](const Array& x) { return x * 2.; }, array(1.)).text());
  const auto other = detail::parse_graph(lower([](const Array& x) { return x * 3.; }, array(1.)).text());
  const std::string key = detail::program_key(*graph, {});
  for (const char* line : {"library ", "\nllvm ", "\nprocessor ", "\ncalls ", "\noptions ", "mul("})
    EXPECT_NE(key.find(line), key.npos) << line << " in " << key;
  EXPECT_EQ(key, detail::program_key(*graph, {}));
  EXPECT_NE(key, detail::program_key(*other, {}));
  for (CodegenOptions options : {CodegenOptions{.lanes = 2}, CodegenOptions{.level = 2},
                                 CodegenOptions{.isa = detail::Isa::Avx2}, CodegenOptions{.parallel = false}})
    EXPECT_NE(key, detail::program_key(*graph, options));
}

TEST(ProgramKey, OpsOfTheUsersOwnAreKeptByVersion) {
  using namespace detail;
  auto sine_named = [](const char* name, std::uint32_t version) {
    Op op = *find_op("sin");
    op.name = name;
    op.version = version;
    return op;
  };
  auto key_of = [](const Op& op) {
    GraphBuilder builder;
    ValueId x = builder.input(array(1.).aval()), y;
    builder.append(op, {}, {&x, 1}, {&y, 1});
    return program_key(*builder.finish({&y, 1}), {});
  };
  static const Op unversioned = sine_named("test.unversioned", 0),
                  versioned = sine_named("test.versioned", 3),
                  unregistered = sine_named("test.unregistered", 3), impostor = sine_named("sin", 0);
  register_op(unversioned);
  register_op(versioned);
  for (const Op* op : {&unversioned, &unregistered, &impostor}) EXPECT_EQ(key_of(*op), "") << op->name;
  EXPECT_NE(key_of(versioned).find("\nop test.versioned 3\n"), std::string::npos) << key_of(versioned);
}

TEST(DiskCache, OnlyADirectoryOfOnesOwnIsUsed) {
  Folder folder;
  auto refused = [](const std::string& path) {
    set_disk_cache({.directory = path});
    const CacheState state = cache_state();
    EXPECT_EQ(state.directory, "") << path;
    set_disk_cache({.on = false});
    return state.why_off;
  };
  const std::string open = folder.path() + "/open", link = folder.path() + "/link",
                    file = folder.path() + "/file";
  std::filesystem::create_directory(open);
  chmod(open.c_str(), 0750);
  EXPECT_EQ(refused(open), open + " is open to other users: chmod 700");
  std::filesystem::create_symlink(folder.path(), link);
  EXPECT_NE(refused(link), "");
  write_file(file, {});
  EXPECT_NE(refused(file), "");
  EXPECT_EQ(refused("somewhere"), "'somewhere' is no absolute path");
  EXPECT_NE(refused("/proc/apsis"), "");
  if (geteuid() != 0) {
    EXPECT_NE(refused("/usr/apsis-cache"), "");
  } else {
    EXPECT_EQ(chown(open.c_str(), 65534, 65534), 0);
    EXPECT_EQ(refused(open), open + " belongs to another user");
  }
}

void set_age(const std::filesystem::path& file, int seconds) {
  std::filesystem::last_write_time(
      file, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

TEST(DiskCache, TheLeastRecentlyUsedGoFirst) {
  Folder folder;
  ProgramImage image;
  image.object.resize(1000);
  const std::string keys[] = {"one", "two", "three", "four"};
  const auto size = static_cast<std::int64_t>(detail::encode_program(keys[0], image).size());
  set_disk_cache({.directory = folder.path(), .max_bytes = 3 * size + 100});
  for (int i = 0; i < 3; ++i) {
    detail::keep_on_disk(keys[i], image);
    for (const auto& file : folder.files())
      if (std::filesystem::last_write_time(file) >
          std::filesystem::file_time_type::clock::now() - std::chrono::seconds(50))
        set_age(file, 1000 - 100 * i);
  }
  EXPECT_EQ(folder.files().size(), 3u);
  EXPECT_TRUE(detail::find_on_disk(keys[0]));  // used, so younger than the others
  detail::keep_on_disk(keys[3], image);
  EXPECT_EQ(folder.files().size(), 3u);
  EXPECT_TRUE(detail::find_on_disk(keys[0]));
  EXPECT_FALSE(detail::find_on_disk(keys[1]));
  EXPECT_TRUE(detail::find_on_disk(keys[2]));
  EXPECT_TRUE(detail::find_on_disk(keys[3]));
  // What would not fit alone is not kept.
  image.object.resize(8000);
  detail::keep_on_disk("large", image);
  EXPECT_FALSE(detail::find_on_disk("large"));
  EXPECT_EQ(folder.files().size(), 3u);
  set_disk_cache({.on = false});
}

TEST(DiskCache, RemovesItsOwnRemainsAlone) {
  Folder folder;
  for (const char* name : {"old.part", "new.part", "letter.txt"}) {
    write_file(folder.path() + "/" + name, {});
    set_age(folder.path() + "/" + name, name[0] == 'n' ? 10 : 10000);
  }
  set_disk_cache({.directory = folder.path()});
  detail::keep_on_disk("key", {});
  auto there = [&](const char* name) { return std::filesystem::exists(folder.path() + "/" + name); };
  EXPECT_FALSE(there("old.part"));
  EXPECT_TRUE(there("new.part")) << "another process may be writing it";
  clear_disk_cache();
  EXPECT_TRUE(there("letter.txt"));
  EXPECT_EQ(folder.files().size(), 1u);
  set_disk_cache({.on = false});
}

TEST(DiskCacheChild, DISABLED_SharesTheDirectory) {
  Array x = array({0.5, 1.5});
  for (int round = 0; round < 3; ++round) {
    for (int n = 0; n < 8; ++n) expect_near(scaled(n, x), sin(x) * (n + 0.5) + x, 1e-15);
    clear_program_cache();
    if (round == 1) clear_disk_cache();
  }
}
TEST(DiskCache, ManyProcessesShareADirectory) {
  Folder folder;
  {
    std::list<Child> children;
    // Room for some of the programs: they are removed under each other's eyes.
    for (int i = 0; i < 4; ++i)
      children.emplace_back(
          "DiskCacheChild.DISABLED_SharesTheDirectory",
          std::vector<std::string>{"APSIS_DISK_CACHE=" + folder.path(), "APSIS_DISK_CACHE_BYTES=20000"});
  }
  for (const auto& file : folder.files())
    EXPECT_EQ(file.extension(), ".program") << "a process left " << file;
}

}  // namespace
}  // namespace apsis::testing
