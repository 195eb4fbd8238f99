// Files appear whole or not at all, where they were asked for, and nothing else does.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::error_of;
using apsis::testing::Files;
namespace fs = std::filesystem;

const Array small = array({1., 2., 3.});

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

/// The exit status of a process that runs `body`; 99 if it throws.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(WrittenFile, KeepsPermissionsAndMinds) {
  Files files;
  const mode_t before = umask(027);
  save(files / "new.npz", small);
  umask(before);
  EXPECT_EQ(mode_of(files / "new.npz"), 0640u);
  chmod((files / "new.npz").c_str(), 0604);
  save(files / "new.npz", small);
  EXPECT_EQ(mode_of(files / "new.npz"), 0604u);
  EXPECT_EQ(files.count(), 1u);
}

TEST(WrittenFile, ALinkStaysAndItsEndIsReplaced) {
  Files files;
  fs::create_directory(files / "far");
  files.with("far/run.npz", "old");
  fs::create_symlink("far/run.npz", files / "one");
  fs::create_symlink("one", files / "two");
  save(files / "two", small);
  EXPECT_TRUE(fs::is_symlink(files / "two"));
  EXPECT_TRUE(fs::is_symlink(files / "one"));
  EXPECT_FALSE(fs::is_symlink(files / "far/run.npz"));
  EXPECT_EQ(load(files / "far/run.npz", small).to_vector<double>(), small.to_vector<double>());
  EXPECT_EQ(files.count(), 3u);
  fs::create_symlink("nowhere", files / "bad");
  EXPECT_EQ(error_of([&] { save(files / "bad", small); }),
            "[io] " + files / "bad" + " cannot be written: it is a link to what does not exist");
  fs::create_symlink("self", files / "self");
  EXPECT_NE(error_of([&] { save(files / "self", small); }), "");
  EXPECT_TRUE(fs::is_symlink(files / "bad"));
}

TEST(WrittenFile, NoNameBesideItIsUsed) {
  Files files;
  files.with("victim", "mine");
  for (const char* name : {"m.npz.partial", "m.npz.tmp", "m.npz.part", "m.npz~"})
    fs::create_symlink("victim", files / name);
  save(files / "m.npz", small);
  EXPECT_EQ(bytes_of(files / "victim"), "mine");
  EXPECT_EQ(files.count(), 6u);
}

TEST(WrittenFile, DevicesAndPipesStayWhatTheyAre) {
  Files files;
  save("/dev/null", small);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(error_of([] { save("/dev/full", small); }),
            "[io] /dev/full cannot be written: No space left on device");
  ASSERT_EQ(mkfifo((files / "pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = bytes_of(files / "pipe"); });
  save(files / "pipe", small);
  reader.join();
  save(files / "file", small);
  EXPECT_EQ(received, bytes_of(files / "file"));
  EXPECT_TRUE(fs::is_fifo(files / "pipe"));
  // A pipe whose reader has gone is an error, not the end of the process.
  const int end = open((files / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  std::thread goes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    close(end);
  });
  EXPECT_EQ(error_of([&] { save(files / "pipe", zeros({100'000})); }),
            "[io] " + files / "pipe" + " cannot be written: Broken pipe");
  goes.join();
}

TEST(WrittenFile, StandardOutputIsWrittenInto) {
  Files files;
  const std::string path = files.with("out", "before ");
  EXPECT_EQ(in_child([&] {
              dup2(open(path.c_str(), O_WRONLY | O_APPEND), 1);
              save("/dev/stdout", small);
              return 0;
            }),
            0);
  save(files / "file", small);
  EXPECT_EQ(bytes_of(path), "before " + bytes_of(files / "file"));
}

TEST(WrittenFile, WhatCannotBeWrittenLeavesNothing) {
  Files files;
  auto refusal = [](const std::string& path) { return error_of([&] { save(path, small); }); };
  auto text = [](const std::string& path, const std::string& why) {
    return "[io] " + path + " cannot be written: " + why;
  };
  EXPECT_EQ(refusal(""), text("", "the path is empty"));
  EXPECT_EQ(refusal(std::string("/tmp/a\0b", 8)), text("/tmp/a\xef\xbf\xbd"
                                                       "b",
                                                       "the path holds a NUL byte"));
  EXPECT_EQ(refusal(files.path()), text(files.path(), "Is a directory"));
  EXPECT_EQ(refusal(files / "new/"), text(files / "new/", "Is a directory"));
  EXPECT_EQ(refusal(files / "no/file"), text(files / "no/file", "No such file or directory"));
  files.with("plain", "x");
  EXPECT_EQ(refusal(files / "plain/file"), text(files / "plain/file", "Not a directory"));
  EXPECT_TRUE(refusal(files / std::string(300, 'n')).ends_with("File name too long"));
  EXPECT_TRUE(refusal("/" + std::string(70'000, 'n')).ends_with("… cannot be written: File name too long"));
  // The longest names there are leave room for the file beside them.
  save(files / std::string(255, 'n'), small);
  EXPECT_EQ(files.count(), 2u);
}

TEST(WrittenFile, PermissionsAreObeyed) {
  Files files;
  fs::create_directory(files / "closed");
  files.with("closed/in", "old");
  files.with("fixed", "old");
  chmod((files / "fixed").c_str(), 0444);
  chmod(files.path().c_str(), 0777);
  chmod((files / "closed").c_str(), 0555);
  const auto nobody = [&](const std::string& path, const std::string& why) {
    return in_child([&] {
      if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
      return error_of([&] { save(path, small); }) == "[io] " + path + " cannot be written: " + why ? 0 : 2;
    });
  };
  EXPECT_EQ(nobody(files / "fixed", "Permission denied"), 0);
  EXPECT_EQ(
      nobody(files / "closed/new", "no file can be made in " + files / "closed" + ": Permission denied"), 0);
  EXPECT_EQ(bytes_of(files / "fixed"), "old");
  EXPECT_EQ(files.count(), 2u);
}

TEST(WrittenFile, AFullDiskLeavesWhatWasThere) {
  Files files;
  save(files / "m.npz", small);
  const std::string before = bytes_of(files / "m.npz");
  // A limit on the size of files, with the signal as it is by default and ignored.
  for (bool ignored : {false, true})
    EXPECT_EQ(in_child([&] {
                if (ignored) signal(SIGXFSZ, SIG_IGN);
                const rlimit limit{10'000, 10'000};
                setrlimit(RLIMIT_FSIZE, &limit);
                const std::string path = files / "m.npz";
                return error_of([&] { save(path, zeros({10'000})); }) ==
                               "[io] " + path + " cannot be written: File too large"
                           ? 0
                           : 1;
              }),
              0);
  EXPECT_EQ(bytes_of(files / "m.npz"), before);
  EXPECT_EQ(files.count(), 1u);
}

TEST(ReadFile, WhatIsNoFileIsRefused) {
  Files files;
  auto refusal = [](const std::string& path) { return error_of([&] { load(path, small); }); };
  EXPECT_EQ(refusal("/dev/zero"), "[io] /dev/zero cannot be read: it is a device");
  EXPECT_EQ(refusal(files.path()), "[io] " + files.path() + " cannot be read: Is a directory");
  EXPECT_EQ(refusal(""), "[io]  cannot be read: the path is empty");
  // A file that claims more than there is memory, all of it a hole.
  files.with("hole", "");
  if (truncate((files / "hole").c_str(), off_t{1} << 42) == 0) {
    EXPECT_EQ(refusal(files / "hole"),
              "[io] " + files / "hole" +
                  " cannot be read: it has 4398046511104 bytes, more than this machine's memory");
  }
  ASSERT_EQ(mkfifo((files / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { save(files / "pipe", small); });
  EXPECT_EQ(load(files / "pipe", small).to_vector<double>(), small.to_vector<double>());
  writer.join();
}

struct Keyed {
  std::map<std::string, Array> parts;
};

TEST(SavedNames, AreFoundAgainOrRefused) {
  Files files;
  const std::string path = files / "k.npz";
  const Keyed keyed{{{"a/b", array({1.})},
                     {"\xce\xb1 \"q\" ]", array({2.})},
                     {std::string(60'000, 'n'), array({3.})},
                     {"", array({4.})}}};
  save(path, keyed);
  const Keyed again = load(path, keyed);
  EXPECT_TRUE(tree_equal(again, keyed));
  auto refusal = [&](const std::string& key) {
    return error_of([&] { save(path, Keyed{{{key, array({1.})}}}); });
  };
  EXPECT_TRUE(refusal(std::string(70'000, 'n'))
                  .ends_with("or holds a NUL byte; names have at most 65535 without any: choose other keys"));
  EXPECT_NE(refusal(std::string("a\0b", 3)), "");
  EXPECT_TRUE(tree_equal(load(path, keyed), keyed));
}

/// Two processes a pair, one that saves and one that loads the same file: how many loads there were, and how
/// many of them were damaged or mixed.
void write_and_read(int pairs, std::chrono::milliseconds time) {
  Files files;
  const std::string path = files / "shared.npz";
  auto tree = [](double value) { return std::vector<Array>{full({3000}, value), full({7}, value)}; };
  save(path, tree(0.));
  const auto end = std::chrono::steady_clock::now() + time;
  auto counts = static_cast<std::atomic<long>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int i = 0; i < 2 * pairs; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0; std::chrono::steady_clock::now() < end; ++n) try {
          if (i % 2 == 0) {
            save(path, tree(i * 1e6 + n));
            ++counts[0];
          } else {
            const auto got = load(path, tree(0.));
            const double value = got[1].to_vector<double>()[0];
            bool same = true;
            for (const Array& a : got)
              for (double v : a.to_vector<double>()) same &= v == value;
            ++counts[1];
            if (!same) ++counts[2];
          }
        } catch (...) {
          ++counts[2];
        }
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) waitpid(child, nullptr, 0);
  std::printf("%d pairs, %ld saves, %ld loads, %ld damaged\n", pairs, counts[0].load(), counts[1].load(),
              counts[2].load());
  EXPECT_GT(counts[0].load(), 0);
  EXPECT_GT(counts[1].load(), 0);
  EXPECT_EQ(counts[2].load(), 0);
  EXPECT_EQ(files.count(), 1u);
  munmap(counts, 4096);
}

TEST(SharedFile, NoLoadOfOthersIsDamaged) { write_and_read(3, std::chrono::milliseconds(700)); }
TEST(SharedFile, SlowTwentyPairs) { write_and_read(20, std::chrono::seconds(10)); }

}  // namespace
