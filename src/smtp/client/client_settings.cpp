#include "smtp/client/option_table.hpp"

#include <coracle/smtp/client_settings.hpp>

namespace coracle::smtp {
namespace {

using connect::detail::change_options;
using connect::detail::describe_table;
using connect::detail::list_table;
using connect::detail::option_setter;
using connect::detail::read_option_json;
using connect::detail::read_option_text;
using connect::detail::read_option_variables;
using connect::detail::set_result;

template <class Read>
set_result change(client_options& options, pool_options* pool, Read read) {
    return change_options<detail::option_target>(detail::option_family(), options, pool, read);
}

set_result read_text(client_options& options, pool_options* pool, std::string_view text) {
    return change(options, pool,
                  [text](option_setter& setter) { return read_option_text(setter, text); });
}

set_result read_json(client_options& options, pool_options* pool, std::string_view text) {
    return change(options, pool,
                  [text](option_setter& setter) { return read_option_json(setter, text); });
}

}  // namespace

std::expected<void, error> read_options(client_options& options, std::string_view text) {
    return read_text(options, nullptr, text);
}

std::expected<void, error> read_options(client_options& options, pool_options& pool,
                                        std::string_view text) {
    return read_text(options, &pool, text);
}

std::expected<void, error> read_json_options(client_options& options, std::string_view text) {
    return read_json(options, nullptr, text);
}

std::expected<void, error> read_json_options(client_options& options, pool_options& pool,
                                             std::string_view text) {
    return read_json(options, &pool, text);
}

std::expected<void, error> read_environment_options(client_options& options) {
    return change(options, nullptr, read_option_variables);
}

std::expected<void, error> read_environment_options(client_options& options, pool_options& pool) {
    return change(options, &pool, read_option_variables);
}

std::vector<connect::option_description> list_options() {
    const detail::option_target defaults;
    return list_table(detail::option_family().table, &defaults);
}

std::string describe_options() {
    const detail::option_target defaults;
    return describe_table(detail::option_family().table, &defaults);
}

}  // namespace coracle::smtp
