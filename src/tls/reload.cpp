#include <coracle/runtime/sleep.hpp>
#include <coracle/tls/reload.hpp>

namespace coracle::tls {
namespace {

void report(const std::expected<void, error>& loaded, const logger& log) {
    if (loaded)
        log.write(log_layer::tls, log_level::info, "certificates were read again");
    else
        log.write(log_layer::tls, log_level::error,
                  "the old certificates stay: " + loaded.error().message());
}

}  // namespace

void reload(server_context& c, const logger& log) {
    report(c.reload(), log);
}

task<> reload_on_change(server_context& c, duration period) {
    const logger& log = loop::current()->log();
    for (;;) {
        co_await sleep_for(period);
        const auto loaded = c.reload_if_changed();
        if (!loaded)
            report(std::unexpected(loaded.error()), log);
        else if (*loaded)
            report({}, log);
    }
}

}  // namespace coracle::tls
