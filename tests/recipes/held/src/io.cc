#include "held.h"

#include <charconv>
#include <ios>
#include <system_error>
#include <vector>

void held_throw(Fault fault) {
    switch (fault) {
    case Fault::own: throw Overflow("own");
    case Fault::file: throw std::filesystem::filesystem_error("file", std::make_error_code(std::errc::io_error));
    case Fault::range: std::vector<int>().at(3); [[fallthrough]];
    case Fault::system: throw std::system_error(std::make_error_code(std::errc::timed_out));
    default: throw std::ios_base::failure("stream");
    }
}

std::string held_text(double value) {
    char text[64];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

double held_number(const std::string &text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::filesystem::path held_place() { return std::filesystem::current_path() / "place"; }
