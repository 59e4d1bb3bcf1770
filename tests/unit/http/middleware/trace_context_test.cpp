#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/trace_context.hpp>

#include <memory>
#include <vector>

using namespace middleware_test;

namespace {

constexpr std::string_view good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps the spans that it is given.
class kept_spans final : public http::span_exporter {
public:
    void add(http::finished_span&& span) noexcept override { all.push_back(std::move(span)); }
    std::vector<http::finished_span> all;
};

std::string attribute(const http::finished_span& s, std::string_view name) {
    for (const auto& [key, value] : s.attributes) {
        if (key == name) return value;
    }
    return "";
}

std::string state_of(std::string_view first, std::string_view second = {}) {
    http::fields all;
    all.add("traceparent", good);
    if (!first.empty()) all.add("tracestate", first);
    if (!second.empty()) all.add("Tracestate", second);
    return http::trace_context::in(all)->state;
}

}  // namespace

TEST(trace_context, reads_and_writes_traceparent) {
    const auto c = http::trace_context::parse(good);
    ASSERT_TRUE(c);
    EXPECT_TRUE(c->sampled);
    EXPECT_EQ(c->trace[0], 0x0a);
    EXPECT_EQ(c->span[7], 0x31);
    EXPECT_EQ(c->text(), good);
    const auto off = http::trace_context::parse(std::string(good.substr(0, 53)) + "00");
    EXPECT_FALSE(off->sampled);
    EXPECT_EQ(off->text(), std::string(good.substr(0, 53)) + "00");
    // Flags that are not known yet are not passed on.
    EXPECT_EQ(http::trace_context::parse(std::string(good.substr(0, 53)) + "ff")->text(), good);
}

TEST(trace_context, takes_later_versions_as_far_as_they_are_known) {
    const std::string rest(good.substr(2));
    EXPECT_EQ(http::trace_context::parse("01" + rest)->text(), good);
    EXPECT_EQ(http::trace_context::parse("fe" + rest + "-what comes")->text(), good);
    EXPECT_FALSE(http::trace_context::parse("01" + rest + "x"));
    EXPECT_FALSE(http::trace_context::parse("ff" + rest));
}

TEST(trace_context, refuses_what_is_malformed) {
    const std::string text(good);
    for (std::size_t i = 0; i != text.size(); ++i) {
        EXPECT_FALSE(http::trace_context::parse(text.substr(0, i))) << i;
        for (const char c : {'A', 'F', 'g', ' ', '\0', '_', '/', ':', '`'}) {
            std::string changed = text;
            changed[i] = c;
            EXPECT_FALSE(http::trace_context::parse(changed)) << i << ' ' << c;
        }
    }
    EXPECT_FALSE(http::trace_context::parse(text + "-00"));
    EXPECT_FALSE(http::trace_context::parse(text + " "));
    EXPECT_FALSE(http::trace_context::parse("00-" + std::string(32, '0') + text.substr(35)));
    EXPECT_FALSE(
        http::trace_context::parse(text.substr(0, 36) + std::string(16, '0') + text.substr(52)));
    http::fields twice;
    twice.add("traceparent", good);
    twice.add("Traceparent", good);
    EXPECT_FALSE(http::trace_context::in(twice));
    EXPECT_FALSE(http::trace_context::in(http::fields()));
}

TEST(trace_context, passes_a_well_formed_tracestate_on) {
    EXPECT_EQ(state_of("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"),
              "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
    EXPECT_EQ(state_of("a=1", "b=2"), "a=1,b=2");
    EXPECT_EQ(state_of("t61@vendor=x , b=y z"), "t61@vendor=x , b=y z");
    EXPECT_EQ(state_of("a=1,,b=2"), "a=1,,b=2");
    for (const std::string& bad :
         {std::string("A=1"), std::string("a"), std::string("=1"), std::string("a="),
          std::string("a=b=c"), std::string("a@b@c=1"), std::string("a b=1"),
          std::string("a=\xc3\xa4"), std::string("-a=1"), "a=" + std::string(257, 'x'),
          std::string(257, 'k') + "=1"}) {
        EXPECT_EQ(state_of(bad), "") << bad;
    }
    std::string many = "a=1";
    for (int i = 0; i != 31; ++i) many += ",a=1";
    EXPECT_EQ(state_of(many), many);
    EXPECT_EQ(state_of(many + ",a=1"), "");
    const std::string longest = "a=" + std::string(254, 'x') + ",b=" + std::string(253, 'x');
    EXPECT_EQ(state_of(longest), longest);
    EXPECT_EQ(state_of(longest + 'x'), "");
}

TEST(tracing, makes_a_span_for_each_request) {
    auto spans = std::make_shared<kept_spans>();
    const http::tracing trace({.exporter = spans});
    const http::handler inner = [](http::request& req) -> task<http::response> {
        http::trace_span::of(req)->set("user.id", "ann");
        req.set_route("/users/{id}");
        co_await sleep_for(20ms);
        co_return http::response(http::status::bad_gateway, "no");
    };
    const http::handler h = http::wrap(trace.requests(), inner);
    asked a("GET", {{"traceparent", good}, {"tracestate", "x=1"}});
    run_virtually([&] { return a.by(h); });
    ASSERT_EQ(spans->all.size(), 1u);
    const http::finished_span& s = spans->all[0];
    EXPECT_EQ(s.context.trace, http::trace_context::parse(good)->trace);
    EXPECT_EQ(s.parent, http::trace_context::parse(good)->span);
    EXPECT_NE(s.context.span, s.parent);
    EXPECT_EQ(s.context.state, "x=1");
    EXPECT_EQ(s.name, "GET /users/{id}");
    EXPECT_EQ(s.kind, http::span_kind::server);
    EXPECT_EQ(s.ended - s.began, 20'000'000);
    EXPECT_EQ(s.status, 502);
    EXPECT_TRUE(s.failed);
    EXPECT_EQ(attribute(s, "user.id"), "ann");
    EXPECT_EQ(attribute(s, "http.route"), "/users/{id}");
    EXPECT_EQ(attribute(s, "http.request.method"), "GET");
    EXPECT_EQ(attribute(s, "url.path"), "/");
    EXPECT_EQ(attribute(s, "client.address"), "192.0.2.1");
    EXPECT_EQ(http::trace_span::of(a.req), nullptr);
}

TEST(tracing, names_no_span_by_a_method_that_a_client_makes_up) {
    auto spans = std::make_shared<kept_spans>();
    const http::handler h = http::wrap(http::tracing({.exporter = spans}).requests(), plain());
    asked a("BREW");
    run_virtually([&] { return a.by(h); });
    ASSERT_EQ(spans->all.size(), 1u);
    EXPECT_EQ(spans->all[0].name, "HTTP");
    EXPECT_EQ(attribute(spans->all[0], "http.request.method"), "_OTHER");
    EXPECT_EQ(attribute(spans->all[0], "http.request.method_original"), "BREW");
}

TEST(tracing, exports_what_is_sampled) {
    auto spans = std::make_shared<kept_spans>();
    const auto exported = [&](http::tracing_options o, field_list fields) {
        o.exporter = spans;
        spans->all.clear();
        const http::handler h = http::wrap(http::tracing(o).requests(), plain());
        for (int i = 0; i != 10; ++i) {
            asked a("GET", fields);
            run_virtually([&] { return a.by(h); });
        }
        return spans->all.size();
    };
    const std::string off = std::string(good.substr(0, 53)) + "00";
    EXPECT_EQ(exported({}, {}), 10u);
    EXPECT_EQ(exported({.sample = 0}, {}), 0u);
    EXPECT_EQ(exported({.sample = 0}, {{"traceparent", good}}), 10u);
    EXPECT_EQ(exported({}, {{"traceparent", off}}), 0u);
    EXPECT_EQ(exported({.trust = false}, {{"traceparent", off}}), 10u);
    EXPECT_NE(spans->all[0].context.trace, http::trace_context::parse(good)->trace);
    EXPECT_EQ(exported({.sample = 0, .trust = false}, {{"traceparent", good}}), 0u);
    EXPECT_EQ(exported({}, {{"traceparent", "malformed"}}), 10u);
    asked without("GET");
    const http::handler h = http::wrap(http::tracing().requests(), plain());
    run_virtually([&] { return without.by(h); });
    EXPECT_EQ(without.text(), "reached");
}

TEST(tracing, cuts_what_a_client_made_long) {
    auto spans = std::make_shared<kept_spans>();
    http::tracing_options o;
    o.exporter = spans;
    const std::string euros = "\xe2\x82\xac";
    const http::handler h = http::wrap(http::tracing(o).requests(), [&](http::request& req) {
        std::string value(1023, 'x');
        http::trace_span::of(req)->set("ascii", value + "yz");
        http::trace_span::of(req)->set("beyond", value + euros);
        http::trace_span::of(req)->set("fits", value + 'y');
        return http::response();
    });
    asked a("GET");
    run_virtually([&] { return a.by(h); });
    ASSERT_EQ(spans->all.size(), 1U);
    EXPECT_EQ(attribute(spans->all[0], "ascii"), std::string(1023, 'x') + 'y');
    EXPECT_EQ(attribute(spans->all[0], "beyond"), std::string(1023, 'x'));
    EXPECT_EQ(attribute(spans->all[0], "fits"), std::string(1023, 'x') + 'y');
}
