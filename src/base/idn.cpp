#include "base/idn.hpp"

#include <idn2.h>

#include <memory>

namespace coracle::detail {

bool append_ascii_name(std::string& out, std::string_view utf8) {
    // The library would read no further.
    if (utf8.contains('\0')) return false;
    const std::string name(utf8);
    char* ascii = nullptr;
    // Not IDN2_USE_STD3_ASCII_RULES: that drops what is mapped to other ASCII ("a/c" for U+2100)
    // where it should be refused, and so gives the name of another host.
    const int flags = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL;
    if (::idn2_to_ascii_8z(name.c_str(), &ascii, flags) != IDN2_OK) return false;
    const std::unique_ptr<char, void (*)(void*)> owner(ascii, ::idn2_free);
    out += ascii;
    return true;
}

}  // namespace coracle::detail
