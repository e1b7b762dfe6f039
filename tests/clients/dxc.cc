// The program of DirectXShaderCompiler, as far as simpack calls it: all arguments go to the compiler's library, which lies
// in the `lib` beside this `bin`; `-Fo` and `-MF` name the files that are written.
#include "WinAdapter.h"
#include "dxcapi.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &why) {
    std::fprintf(stderr, "dxc: %s\n", why.c_str());
    std::exit(1);
}

std::string beside() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) fail("/proc/self/exe cannot be read");
    std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind("/bin/")) + "/lib/libdxcompiler.so";
}

template <typename T> T *made(DxcCreateInstanceProc create, const CLSID &what) {
    T *value = nullptr;
    if (create(what, __uuidof(T), reinterpret_cast<void **>(&value)) != S_OK) fail("the library makes no compiler");
    return value;
}

// What the library answers of one kind; empty where it has none.
std::string answer(IDxcResult *result, DXC_OUT_KIND kind) {
    IDxcBlob *blob = nullptr;
    if (!result->HasOutput(kind) || result->GetOutput(kind, __uuidof(IDxcBlob), reinterpret_cast<void **>(&blob), nullptr) ||
        !blob)
        return "";
    std::string bytes(static_cast<const char *>(blob->GetBufferPointer()), blob->GetBufferSize());
    // A text has its end in it.
    if (kind != DXC_OUT_OBJECT) bytes = bytes.c_str();
    return bytes;
}

void write(const std::string &path, const std::string &bytes) {
    std::ofstream file(path, std::ios::binary);
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) fail("cannot write " + path);
}

} // namespace

int main(int count, char **words) {
    std::string library = beside();
    void *opened = dlopen(library.c_str(), RTLD_NOW);
    if (!opened) fail(dlerror());
    auto create = reinterpret_cast<DxcCreateInstanceProc>(dlsym(opened, "DxcCreateInstance"));
    auto compiler = made<IDxcCompiler3>(create, CLSID_DxcCompiler);
    auto utils = made<IDxcUtils>(create, CLSID_DxcUtils);
    if (count == 2 && std::string(words[1]) == "--version") {
        IDxcVersionInfo2 *info = nullptr;
        UINT32 major = 0, minor = 0, commits = 0;
        char *commit = nullptr;
        if (compiler->QueryInterface(__uuidof(IDxcVersionInfo2), reinterpret_cast<void **>(&info)) != S_OK) fail("no version");
        info->GetVersion(&major, &minor);
        info->GetCommitInfo(&commits, &commit);
        std::printf("libdxcompiler.so: %u.%u - %u.%u.%u (%s)\n", major, minor, major, minor, commits, commit);
        return 0;
    }
    std::vector<std::wstring> wide;
    std::string object, list;
    for (int at = 1; at < count; ++at) {
        std::string word = words[at];
        if (word == "-Fo" && at + 1 < count) object = words[at + 1];
        if (word == "-MF" && at + 1 < count) list = words[at + 1];
        wide.emplace_back(word.begin(), word.end());
    }
    if (wide.empty()) fail("no input file");
    std::vector<LPCWSTR> arguments;
    for (const std::wstring &word : wide) arguments.push_back(word.c_str());
    IDxcBlobEncoding *source = nullptr;
    if (utils->LoadFile(wide.back().c_str(), nullptr, &source) != S_OK) fail(std::string("cannot read ") + words[count - 1]);
    IDxcIncludeHandler *includes = nullptr;
    utils->CreateDefaultIncludeHandler(&includes);
    DxcBuffer text{source->GetBufferPointer(), source->GetBufferSize(), 0};
    IDxcResult *result = nullptr;
    if (compiler->Compile(&text, arguments.data(), static_cast<UINT32>(arguments.size()), includes, __uuidof(IDxcResult),
                          reinterpret_cast<void **>(&result)) != S_OK)
        fail("the library refuses the arguments");
    std::fputs(answer(result, DXC_OUT_ERRORS).c_str(), stderr);
    HRESULT status = S_OK;
    result->GetStatus(&status);
    if (status != S_OK) return 1;
    if (!list.empty()) write(list, answer(result, DXC_OUT_TEXT));
    else if (!object.empty()) write(object, answer(result, DXC_OUT_OBJECT));
    return 0;
}
