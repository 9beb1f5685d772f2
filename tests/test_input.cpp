#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// A path in a fresh directory of this process.
fs::path fresh_path(const std::string& name) {
  static int calls = 0;
  const fs::path directory =
      fs::path(testing::TempDir()) /
      ("reduce-ladder-input-" + std::to_string(getpid()) + "-" + std::to_string(++calls));
  fs::create_directories(directory);
  return directory / name;
}

// A file of one test, removed with its directory.
class File {
 public:
  File(const std::string& name, std::string_view bytes) : path_(fresh_path(name)) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { fs::remove_all(path_.parent_path()); }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string raw(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string npy(const std::string& header, const std::vector<float>& values, int major = 1) {
  std::string bytes = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return bytes + header + raw(values);
}

std::string header(const std::string& shape, const std::string& descr = "<f4") {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }   \n";
}

std::vector<float> read(const std::string& name, std::string_view bytes) {
  const File file(name, bytes);
  const Input input = read_input(file.path());
  return {input.values().begin(), input.values().end()};
}

// The line that refuses a path, without the path in front of it.
std::string refusal(const fs::path& path) {
  try {
    read_input(path);
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string front = path.string() + ": ";
    EXPECT_TRUE(text.starts_with(front)) << text;
    for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ') << text;
    return text.substr(std::min(front.size(), text.size()));
  }
  return "";
}

std::string refusal(const std::string& name, std::string_view bytes) {
  const File file(name, bytes);
  return refusal(file.path());
}

double sum_of(const Input& input) {
  double sum = 0;
  for (const float x : input.values()) sum += static_cast<double>(x);
  return sum;
}

TEST(Generator, ValuesAreAFunctionOfSeedAndPositionForever) {
  const Input zero = generate_uniform(1'000'001, 0);
  EXPECT_EQ(zero.values()[0], 8794306 * 0x1p-24F);
  EXPECT_EQ(zero.values()[65535], 4412789 * 0x1p-24F);
  EXPECT_EQ(zero.values()[65536], 14553631 * 0x1p-24F);
  EXPECT_EQ(zero.values()[1'000'000], 1413026 * 0x1p-24F);
  const Input answer = generate_uniform(3, 42);
  EXPECT_EQ(answer.values()[0], 7322714 * 0x1p-24F);
  EXPECT_EQ(answer.values()[2], 4923382 * 0x1p-24F);
}

TEST(Generator, ShorterInputsAreThePrefixOfLongerOnes) {
  const Input longer = generate_uniform(200'000, 7);
  for (const Index n : {1U, 65535U, 65536U, 65537U, 131072U}) {
    EXPECT_TRUE(std::ranges::equal(generate_uniform(n, 7).values(), longer.values().first(n))) << n;
  }
}

TEST(Generator, ValuesAreMultiplesOfTwoToTheMinus24BelowOne) {
  const Input input = generate_uniform(100'000, 3);
  for (const float x : input.values()) {
    ASSERT_GE(x, 0.0F);
    ASSERT_LT(x, 1.0F);
    ASSERT_EQ(x * 0x1p24F, std::floor(x * 0x1p24F));
  }
}

TEST(Generator, ValuesHaveTheMomentsOfAUniformDistribution) {
  const Input input = generate_uniform(1 << 20, 42);
  double squares = 0;
  double lagged = 0;
  for (Index i = 0; i + 1 < input.info.n; ++i) {
    const double x = static_cast<double>(input.values()[i]) - 0.5;
    squares += x * x;
    lagged += x * (static_cast<double>(input.values()[i + 1]) - 0.5);
  }
  const auto n = static_cast<double>(input.info.n);
  EXPECT_NEAR(sum_of(input) / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / n));
  EXPECT_NEAR(lagged / n, 0.0, 5.0 / 12 / std::sqrt(n));
}

TEST(Generator, NearSeedsShareNoValuesAndDoNotCorrelate) {
  constexpr Index n = 1 << 16;
  const std::vector<std::uint64_t> seeds = {0,  1,          2,          42,
                                            43, 1ULL << 32, 1ULL << 63, 0x9e3779b97f4a7c15};
  for (std::size_t a = 0; a < seeds.size(); ++a) {
    for (std::size_t b = a + 1; b < seeds.size(); ++b) {
      const Input first = generate_uniform(n, seeds[a]);
      const Input second = generate_uniform(n, seeds[b]);
      // Streams that overlap with a small shift would hold runs of equal values.
      for (Index shift = 0; shift < 8; ++shift) {
        EXPECT_FALSE(
            std::ranges::equal(first.values().subspan(shift, 8), second.values().first(8)));
        EXPECT_FALSE(
            std::ranges::equal(second.values().subspan(shift, 8), first.values().first(8)));
      }
      double product = 0;
      for (Index i = 0; i < n; ++i) {
        product += (static_cast<double>(first.values()[i]) - 0.5) *
                   (static_cast<double>(second.values()[i]) - 0.5);
      }
      EXPECT_NEAR(product / n, 0.0, 5.0 / 12 / std::sqrt(static_cast<double>(n)));
    }
  }
}

TEST(Generator, SaysWhereItsValuesCameFrom) {
  const Input input = generate_uniform(5, 9);
  EXPECT_EQ(input.info.n, 5U);
  EXPECT_EQ(input.info.source, "uniform [0,1)");
  EXPECT_EQ(input.info.seed, 9U);
}

TEST(Generator, NoValuesAreNoError) {
  EXPECT_TRUE(generate_uniform(0, 42).values().empty());
}

TEST(Generator, MoreThanTheMemoryIsRefusedBeforeItIsFilled) {
  for (const Index n : {Index{1} << 40, Index{1} << 61, std::numeric_limits<Index>::max()}) {
    EXPECT_THROW(generate_uniform(n, 42), OutOfMemoryError) << n;
  }
  try {
    generate_uniform(Index{1} << 40, 42);
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("1099511627776 values need 4096.0 GiB"),
              std::string::npos)
        << error.what();
  }
}

TEST(Input, ReadsRawValuesBitForBit) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.5F, -0.0F, infinity, -infinity, 1e-45F, 3.4e38F};
  EXPECT_EQ(raw(read("x.f32", raw(values))), raw(values));
  EXPECT_EQ(raw(read("x.bin", raw(values))), raw(values));
  const std::string nan = raw({std::nanf("5")});
  EXPECT_EQ(raw(read("x.f32", nan)), nan);
}

TEST(Input, ExtensionsMayBeInCapitals) {
  EXPECT_EQ(read("x.F32", raw({2})), std::vector{2.0F});
  EXPECT_EQ(read("x.Bin", raw({2})), std::vector{2.0F});
  EXPECT_EQ(read("x.NPY", npy(header("(1,)"), {2})), std::vector{2.0F});
}

TEST(Input, SaysWhereItsValuesCameFrom) {
  const File file("x.f32", raw({1, 2, 3}));
  const Input input = read_input(file.path());
  EXPECT_EQ(input.info.n, 3U);
  EXPECT_EQ(input.info.source, file.path().string());
  EXPECT_EQ(input.info.seed, std::nullopt);
}

TEST(Input, EmptyRawFilesHoldNoValues) {
  EXPECT_TRUE(read("x.f32", "").empty());
}

TEST(Input, RefusesRawFilesThatEndInsideAValue) {
  EXPECT_EQ(refusal("x.f32", "abcde"), "has 5 bytes; float32 values need a multiple of 4");
  EXPECT_EQ(refusal("x.bin", "abc"), "has 3 bytes; float32 values need a multiple of 4");
}

TEST(Input, ReadsEveryNpyVersion) {
  for (const int major : {1, 2, 3}) {
    EXPECT_EQ(read("x.npy", npy(header("(2,)"), {1, 2}, major)), (std::vector{1.0F, 2.0F}));
  }
}

TEST(Input, ReadsNpyShapesOfAnyRank) {
  EXPECT_EQ(read("x.npy", npy(header("()"), {7})).size(), 1U);
  EXPECT_EQ(read("x.npy", npy(header("(3,)"), {1, 2, 3})).size(), 3U);
  EXPECT_EQ(read("x.npy", npy(header("(2, 3)"), {1, 2, 3, 4, 5, 6})).size(), 6U);
  EXPECT_EQ(read("x.npy", npy(header("(1,2,1,2)"), {1, 2, 3, 4})).size(), 4U);
  EXPECT_EQ(read("x.npy", npy(header("(2L, 2L)"), {1, 2, 3, 4})).size(), 4U);
}

TEST(Input, ReadsNpyShapesWithoutValues) {
  EXPECT_TRUE(read("x.npy", npy(header("(0,)"), {})).empty());
  EXPECT_TRUE(read("x.npy", npy(header("(3, 0, 2)"), {})).empty());
  EXPECT_TRUE(
      read("x.npy", npy(header("(18446744073709551615, 18446744073709551615, 0)"), {})).empty());
}

TEST(Input, ReadsNpyHeadersHoweverTheyAreSpacedQuotedAndOrdered) {
  for (const char* text :
       {"{'descr':'<f4','fortran_order':False,'shape':(2,)}",
        R"({"shape": (2,), "descr": "<f4", "fortran_order": True})",
        "{ 'fortran_order' : False , \"shape\" : ( 2 , ) , 'descr' : '<f4' , }  ",
        "\n{\t'descr': '<f4',\r\n 'fortran_order': False,\n 'shape': (1, 2), }\n\n"}) {
    EXPECT_EQ(read("x.npy", npy(text, {1, 2})), (std::vector{1.0F, 2.0F})) << text;
  }
}

TEST(Input, ValuesInFortranOrderAreTakenAsTheyLie) {
  EXPECT_EQ(read("x.npy",
                 npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", {1, 3, 2, 4})),
            (std::vector{1.0F, 3.0F, 2.0F, 4.0F}));
}

TEST(Input, RefusesNpyWithoutItsMagicString) {
  EXPECT_EQ(refusal("x.npy", ""), "is no .npy file: it has only 0 bytes");
  EXPECT_EQ(refusal("x.npy", "\x93NUMP"), "is no .npy file: it has only 5 bytes");
  EXPECT_EQ(refusal("x.npy", raw({1, 2, 3, 4})),
            R"(is no .npy file: it does not begin with "\x93NUMPY")");
}

TEST(Input, RefusesUnknownNpyVersions) {
  std::string bytes = npy(header("(1,)"), {1});
  bytes[7] = 1;
  EXPECT_EQ(refusal("x.npy", bytes), "is of .npy version 1.1; 1.0, 2.0 and 3.0 are allowed");
  for (const int major : {0, 4, 255}) {
    bytes[6] = static_cast<char>(major);
    EXPECT_TRUE(refusal("x.npy", bytes).starts_with("is of .npy version " + std::to_string(major)));
  }
}

TEST(Input, RefusesNpyOfAnyOtherType) {
  for (const char* type : {"<f8", ">f4", "<f2", "<i4", "|u1", "=f4", "f4", "<f4 ", "", "|O"}) {
    EXPECT_EQ(
        refusal("x.npy", npy(header("(1,)", type), {1, 2})),
        "its values are of type '"s + type + "'; only '<f4', little-endian float32, is allowed");
  }
}

TEST(Input, RefusesNpyRecords) {
  const std::string text = refusal(
      "x.npy", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", {1}));
  EXPECT_TRUE(text.starts_with("its values are records, '[(")) << text;
}

TEST(Input, RefusesNpyWhoseDataIsShorterThanItsShape) {
  EXPECT_EQ(refusal("x.npy", npy(header("(3,)"), {1, 2})),
            "has 8 bytes of data; its shape asks for 12");
  EXPECT_EQ(refusal("x.npy", npy(header("()"), {})), "has 0 bytes of data; its shape asks for 4");
}

TEST(Input, RefusesNpyWhoseDataIsLongerThanItsShape) {
  EXPECT_EQ(refusal("x.npy", npy(header("(3,)"), {1, 2, 3, 4})),
            "has 16 bytes of data; its shape asks for 12");
  EXPECT_EQ(refusal("x.npy", npy(header("(1,)"), {1}) + "x"),
            "has 5 bytes of data; its shape asks for 4");
  EXPECT_EQ(refusal("x.npy", npy(header("(0,)"), {1})),
            "has 4 bytes of data; its shape asks for 0");
}

TEST(Input, RefusesNpyShapesWhoseProductOverflows) {
  for (const char* shape :
       {"(4294967296, 4294967296)", "(4611686018427387904,)", "(3, 6148914691236517206)",
        "(65536, 65536, 65536, 65536)", "(18446744073709551615, 2)"}) {
    EXPECT_EQ(refusal("x.npy", npy(header(shape), {1, 2})),
              "its shape asks for 2^64 bytes or more");
  }
}

TEST(Input, RefusesNpyShapesThatAreNoTuplesOfCounts) {
  for (const char* shape : {"(-1,)", "(1.5,)", "(,)", "(1 2)", "1", "[1]", "(1,,)", "(x,)", "None",
                            "(99999999999999999999,)", "(1", "((1,),)", "(0x1,)"}) {
    EXPECT_TRUE(refusal("x.npy", npy(header(shape), {1})).starts_with("its header is not as NumPy"))
        << shape;
  }
}

TEST(Input, RefusesNpyHeadersThatAreCutOffAnywhere) {
  const std::string whole = npy(header("(1,)"), {1}, 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal("x.npy", whole.substr(0, size)), "") << size;
  }
  const std::string text = header("(1,)");
  for (std::size_t size = 0; size < text.find('}'); ++size) {
    EXPECT_TRUE(refusal("x.npy", npy(text.substr(0, size), {1})).starts_with("its header "))
        << text.substr(0, size);
  }
}

TEST(Input, RefusesNpyWhoseHeaderIsLongerThanTheFile) {
  std::string bytes = npy(header("(1,)"), {1}, 2);
  bytes.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_TRUE(refusal("x.npy", bytes).ends_with("its header ends at 4294967307"))
      << refusal("x.npy", bytes);
}

TEST(Input, RefusesNpyWhoseHeaderIsAbsurdlyLong) {
  const std::string padded = header("(1,)") + std::string(std::size_t{1} << 20, ' ');
  EXPECT_TRUE(refusal("x.npy", npy(padded, {1}, 3)).ends_with("at most 1048576 are allowed"));
}

TEST(Input, RefusesNpyHeadersWithOtherKeysMissingKeysOrOneTwice) {
  EXPECT_TRUE(refusal("x.npy", npy("{'descr': '<f4', 'shape': (1,)}", {1}))
                  .starts_with("its header has 2 of its keys; each of "));
  EXPECT_TRUE(refusal("x.npy", npy("{}", {1})).starts_with("its header has 0 of its keys"));
  EXPECT_TRUE(refusal("x.npy", npy("{'descr': '<f4', 'colour': 1}", {1}))
                  .starts_with("its header has the "
                               "key 'colour'; "));
  EXPECT_TRUE(refusal("x.npy", npy("{'descr': '<f4', 'descr': '<f4'}", {1}))
                  .starts_with("its header has two keys 'descr'; "));
}

TEST(Input, RefusesNpyHeadersWithJunkBehindTheDictionary) {
  EXPECT_EQ(refusal("x.npy", npy(header("(1,)") + "junk", {1})),
            "its header is not as NumPy writes it, from 'junk' on");
}

TEST(Input, KeepsControlCharactersOfAHeaderOutOfItsMessages) {
  EXPECT_EQ(refusal("x.npy", npy(header("(1,)", "\x1b[2J\n\x7f\0"s), {1})),
            R"(its values are of type '\x1b[2J\n\x7f\x00'; only '<f4', little-endian float32, is )"
            "allowed");
  EXPECT_EQ(refusal("x.npy", npy("{" + std::string(1000, '\x07'), {1})).find('\x07'),
            std::string::npos);
}

TEST(Input, KeepsControlCharactersOfAPathOutOfItsMessages) {
  try {
    read_input("a\nb\x1b.npy");
    FAIL() << "there is no such file";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), R"(a\nb\x1b.npy: there is no such file)");
  }
}

TEST(Input, RefusesOtherExtensionsNamingTheAllowedOnes) {
  for (const char* name : {"x.txt", "x.npz", "x", "npy", ".npy", "x.npy.gz", "x."}) {
    EXPECT_EQ(refusal(name, raw({1})),
              "has no name that tells its format; .npy, .f32 and .bin (raw float32) are allowed");
  }
}

TEST(Input, RefusesWhatIsMissing) {
  EXPECT_EQ(refusal(fs::path(testing::TempDir()) / "reduce-ladder-no-such-file.npy"),
            "there is no such file");
  EXPECT_EQ(refusal(fs::path("")), "there is no such file");
  EXPECT_EQ(refusal(fs::path(std::string(300, 'x') + ".npy")),
            "cannot be read: File name too long");
}

TEST(Input, RefusesDirectoriesEvenWithAKnownExtension) {
  const fs::path directory = fresh_path("x.npy");
  fs::create_directory(directory);
  EXPECT_EQ(refusal(directory), "is a directory, not a file");
  EXPECT_EQ(refusal(fs::path(directory.string() + "/")), "is a directory, not a file");
  fs::remove_all(directory.parent_path());
}

TEST(Input, RefusesPipesAndDevicesWithoutWaitingForThem) {
  const fs::path pipe = fresh_path("x.f32");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), "is not a regular file");
  fs::remove_all(pipe.parent_path());
  EXPECT_EQ(refusal(fs::path("/dev/zero")), "is not a regular file");
}

TEST(Input, RefusesFilesItMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const File file("x.f32", raw({1}));
  fs::permissions(file.path(), fs::perms::none);
  EXPECT_EQ(refusal(file.path()), "cannot be read: Permission denied");
}

TEST(Input, FollowsSymbolicLinks) {
  const File file("x.f32", raw({1, 2}));
  const fs::path link = file.path().parent_path() / "link.f32";
  fs::create_symlink(file.path(), link);
  EXPECT_EQ(read_input(link).info.n, 2U);
}

TEST(Input, ReadsRealArraysWhole) {
  struct Case {
    const char* name;
    Index n;
    double sum;
    double abs_sum;
  };
  for (const Case& array : {
           Case{"silero_vad_16k_weights.npy", 309633, -245.02884468938817, 63151.2629394306},
           Case{"canada_coordinates.npy", 111126, -1265531.1087608337, 8649751.128810883},
           Case{"mesh_vertices.npy", 73019, 15401544847793.938, 15401544847793.938},
       }) {
    const Input input = read_input(fs::path(REDUCE_LADDER_TEST_DATA) / array.name);
    EXPECT_EQ(input.info.n, array.n);
    // A sum in double of fewer than 2^19 values is off by less than 2^19 * 2^-53 of the magnitudes.
    EXPECT_NEAR(sum_of(input), array.sum, 0x1p-34 * array.abs_sum) << array.name;
  }
}

}  // namespace
}  // namespace reduce_ladder
