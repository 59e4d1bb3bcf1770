#include "smtp/channel_binding.hpp"

#include <utility>

namespace coracle::smtp::detail {

std::vector<channel_binding> bindings_of(const tls::session_info& connection,
                                         const tls::certificate& server) {
    constexpr std::size_t exported = 32;
    std::vector<channel_binding> all;
    if (connection.version() == tls::version::tls_1_3) {
        const secret key =
            connection.export_keying_material("EXPORTER-Channel-Binding", "", exported);
        all.push_back({"tls-exporter", std::string(key.reveal())});
    }
    std::string end_point = server ? server.endpoint_binding() : std::string();
    if (!end_point.empty()) all.push_back({"tls-server-end-point", std::move(end_point)});
    return all;
}

}  // namespace coracle::smtp::detail
