#include "runtime/shortest_period.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/tls/reload.hpp>

#include <algorithm>
#include <new>

namespace coracle::tls {
namespace {

/// Reads the certificates with `f`, which gives whether they were read, and reports that.
template <class F>
void read_again(F f, const logger& log) noexcept {
    constexpr log_layer layer = log_layer::tls;
    try {
        const std::expected<bool, error> loaded = f();
        if (loaded && *loaded) log.write(layer, log_level::info, "certificates were read again");
        if (loaded) return;
        log.write(layer, log_level::error,
                  "the old certificates stay: " + loaded.error().message());
    } catch (const std::bad_alloc&) {
        log.write(layer, log_level::error, "the old certificates stay: no memory");
    }
}

template <class Context>
void load_again(Context& c, const logger& log) {
    const auto load = [&c]() -> std::expected<bool, error> {
        auto loaded = c.reload();
        if (!loaded) return std::unexpected(std::move(loaded).error());
        return true;
    };
    read_again(load, log);
}

template <class Context>
task<> load_on_change(Context& c, duration period) {
    const logger& log = loop::current()->log();
    for (;;) {
        co_await sleep_for(std::max(period, coracle::detail::shortest_period));
        read_again([&c] { return c.reload_if_changed(); }, log);
    }
}

}  // namespace

void reload(server_context& c, const logger& log) {
    load_again(c, log);
}

void reload(client_context& c, const logger& log) {
    load_again(c, log);
}

task<> reload_on_change(server_context& c, duration period) {
    return load_on_change(c, period);
}

task<> reload_on_change(client_context& c, duration period) {
    return load_on_change(c, period);
}

}  // namespace coracle::tls
