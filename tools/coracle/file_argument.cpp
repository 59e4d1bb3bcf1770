#include "file_argument.hpp"

#include <algorithm>

namespace coracle::tool {

file_argument read_file_argument(const std::string& text, std::string_view name) {
    const std::string of_name = ';' + std::string(name) + '=';
    const std::string of_type = ";type=";
    file_argument o;
    const std::size_t first = std::min(text.find(of_type), text.find(of_name));
    o.value = text.substr(0, first);
    for (std::size_t at = first; at < text.size();) {
        const bool is_type = text.compare(at, of_type.size(), of_type) == 0;
        const std::size_t begin = at + (is_type ? of_type : of_name).size();
        // A media type may have parameters too.
        const std::size_t end =
            std::min(text.find(is_type ? of_name : of_type, begin), text.size());
        (is_type ? o.type : o.name) = text.substr(begin, end - begin);
        at = end;
    }
    return o;
}

}  // namespace coracle::tool
