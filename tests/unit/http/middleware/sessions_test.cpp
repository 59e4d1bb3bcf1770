// Sessions: what a cookie brings back, and the attacks on it.

#include "support/allocation_count.hpp"
#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/sessions.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace middleware_test;

namespace {

constexpr std::string_view cookie_name = "__Host-session";

/// The cookie that a response sets, "name=value"; empty where it sets none.
std::string cookie_of(const http::response& r) {
    const std::string_view line = r.header("Set-Cookie");
    return std::string(line.substr(0, line.find(';')));
}

/// The outcome of one request of a browser.
struct visit {
    std::string cookie;
    int status = 0;
    std::string text;
    std::string line;  ///< of Set-Cookie
    std::string cache;
};

using action = std::function<std::string(http::session&, http::request&)>;

/// A site whose sessions are tried out.
class site {
public:
    explicit site(http::session_options o = {})
        : served_(http::wrap(http::sessions(std::move(o)), [this](http::request& req) {
              return http::response(act_(http::session::of(req), req));
          })) {}

    task<visit> go(std::string cookie, action act) {
        act_ = std::move(act);
        asked a("GET", {{"Cookie", cookie}});
        co_await a.by(served_);
        visit v;
        v.cookie = cookie_of(a.res).empty() ? cookie : cookie_of(a.res);
        v.status = a.status();
        v.text = a.text();
        v.line = a.header("Set-Cookie");
        v.cache = a.header("Cache-Control");
        co_return v;
    }

    static std::string show(http::session& s, http::request&) {
        return s.get<std::string>("k").value_or("-") + "/" + std::string(s.user());
    }
    static std::string put(http::session& s, http::request&) {
        s.set("k", "v");
        return "put";
    }

private:
    action act_;
    http::handler served_;
};

/// A store that fails when it is told to, and knows what was done.
class failing_store final : public http::session_store {
public:
    task<std::expected<std::optional<std::string>, error>> load(
        std::string_view key, std::chrono::seconds keep) override {
        keys.insert(std::string(key));
        last = keep;
        if (fails) co_return std::unexpected(error(std::errc::connection_refused, "store"));
        if (waits) {
            auto waiting = sleep_for(1h);
            auto waited = co_await as_result(waiting);
            if (!waited) co_return std::unexpected(std::move(waited).error());
        }
        auto loading = inner.load(key, keep);
        co_return co_await std::move(loading);
    }
    task<std::expected<void, error>> save(std::string_view key, std::string_view data,
                                          std::chrono::seconds keep,
                                          http::session_save how) override {
        ++saves;
        last = keep;
        if (ends_meanwhile && how == http::session_save::create) {
            for (const std::string& one : keys) {
                auto ending = inner.remove(one);
                co_await std::move(ending);
            }
        }
        if (fails_saves) co_return std::unexpected(error(std::errc::connection_refused, "store"));
        auto saving = inner.save(key, data, keep, how);
        co_return co_await std::move(saving);
    }
    task<std::expected<bool, error>> remove(std::string_view key) override {
        if (fails_saves) co_return std::unexpected(error(std::errc::connection_refused, "store"));
        auto removing = inner.remove(key);
        co_return co_await std::move(removing);
    }

    http::memory_session_store inner;
    bool fails = false;
    bool fails_saves = false;
    bool ends_meanwhile = false;  ///< another request ends the sessions that were loaded
    bool waits = false;
    int saves = 0;
    std::chrono::seconds last{};
    std::set<std::string> keys;
};

http::session_options kept_in(std::shared_ptr<http::session_store> store) {
    http::session_options o;
    o.store = std::move(store);
    return o;
}

}  // namespace

TEST(sessions, keep_values_from_one_request_to_the_next) {
    site s;
    run_virtually([&]() -> task<> {
        const visit none = co_await s.go("", site::show);
        EXPECT_EQ(none.text, "-/");
        EXPECT_EQ(none.line, "");  // nothing to keep: no cookie
        EXPECT_EQ(none.cache, "");
        const visit first = co_await s.go("", site::put);
        EXPECT_EQ(first.line.substr(0, cookie_name.size() + 1), "__Host-session=");
        EXPECT_EQ(first.line.substr(cookie_name.size() + 1 + 22),
                  "; Path=/; Secure; HttpOnly; SameSite=Lax");
        EXPECT_EQ(first.cache, "no-store");
        const visit second = co_await s.go(first.cookie, site::show);
        EXPECT_EQ(second.text, "v/");
        EXPECT_EQ(second.line, "");
        const visit other = co_await s.go("", site::show);
        EXPECT_EQ(other.text, "-/");
    });
}

TEST(sessions, of_a_site_and_of_a_part_of_it_are_apart) {
    http::session_options inner;
    inner.cookie = "admin";
    const auto part = http::wrap(http::sessions(inner), [](http::request& req) {
        http::session& s = http::session::of(req);
        s.log_in("root");
        s.set("k", "inner");
        return http::response("part");
    });
    std::string seen;
    const auto around = [&](http::request& req, const http::handler& next) -> task<http::response> {
        http::session& s = http::session::of(req);
        s.set("k", "outer");
        auto going = next(req);
        http::response r = co_await std::move(going);
        seen = s.get<std::string>("k").value_or("-") + "/" + std::string(s.user());
        EXPECT_EQ(&http::session::of(req), &s);
        co_return std::move(r);
    };
    const http::handler site =
        http::wrap(http::sessions(http::session_options()), http::wrap(around, part));
    run_virtually([&]() -> task<> {
        asked a("GET", {});
        co_await a.by(site);
        EXPECT_EQ(a.text(), "part");
        EXPECT_EQ(seen, "outer/");
    });
}

TEST(sessions, of_one_store_are_apart_by_their_cookies) {
    http::session_options o;
    o.store = std::make_shared<http::memory_session_store>();
    o.secure = false;
    site first(o);
    o.cookie = "admin";
    site other(o);
    run_virtually([&]() -> task<> {
        const auto log_in = [](http::session& s, http::request&) {
            s.log_in("root");
            return std::string();
        };
        const visit in = co_await first.go("", log_in);
        const std::string id = in.cookie.substr(in.cookie.find('='));
        const visit again = co_await first.go("session" + id, site::show);
        EXPECT_EQ(again.text, "-/root");
        const visit elsewhere = co_await other.go("admin" + id, site::show);
        EXPECT_EQ(elsewhere.text, "-/");
    });
}

TEST(sessions, keep_their_cookies_from_caches_whatever_a_rule_says) {
    for (const auto& [rule, expected] :
         {std::pair<const char*, const char*>("public, max-age=60", "no-store"),
          {"no-cache", "no-store"},
          {"private, max-age=60", "private, max-age=60"}}) {
        const auto put =
            http::wrap(http::sessions(http::session_options()), [rule](http::request& req) {
                http::session::of(req).set("k", "v");
                return http::response("put").set("Cache-Control", rule);
            });
        run_virtually([&]() -> task<> {
            asked a("GET", {});
            co_await a.by(put);
            EXPECT_EQ(a.header("Cache-Control"), expected);
            EXPECT_NE(a.header("Set-Cookie"), "");
        });
    }
}

TEST(sessions, keep_values_of_types) {
    site s;
    run_virtually([&]() -> task<> {
        const visit first = co_await s.go("", [](http::session& to, http::request&) {
            EXPECT_TRUE(to.is_new());
            to.set("int", -7);
            to.set("big", std::uint64_t{18446744073709551615U});
            to.set("yes", true);
            to.set("text", std::string("a\0b", 3));
            to.set("text2", "long");
            to.erase("text2");
            to.erase("none");
            return "";
        });
        const visit next = co_await s.go(first.cookie, [](http::session& of, http::request&) {
            EXPECT_FALSE(of.is_new());
            EXPECT_EQ(of.get<int>("int"), -7);
            EXPECT_EQ(of.get<unsigned>("int"), std::nullopt);
            EXPECT_EQ(of.get<std::uint64_t>("big"), 18446744073709551615U);
            EXPECT_EQ(of.get<int>("big"), std::nullopt);
            EXPECT_EQ(of.get<bool>("yes"), true);
            EXPECT_EQ(of.get<bool>("int"), std::nullopt);
            EXPECT_EQ(of.get<std::string>("text"), std::string("a\0b", 3));
            EXPECT_EQ(of.bytes("text2"), std::nullopt);
            EXPECT_EQ(of.bytes("none"), std::nullopt);
            // A value of its own, under its own name.
            of.set_bytes("text", *of.bytes("text"));
            EXPECT_EQ(of.get<std::string>("text"), std::string("a\0b", 3));
            return "";
        });
        EXPECT_EQ(next.status, 200);
    });
}

TEST(sessions, log_in_a_user_whom_one_of_their_values_names) {
    site s;
    run_virtually([&]() -> task<> {
        const visit in = co_await s.go("", [](http::session& of, http::request&) {
            of.set_bytes("coracle.csrf", "0123456789abcdef");
            of.set_bytes("pending", "alice");
            of.log_in(*of.bytes("pending"));
            return std::string(of.user());
        });
        EXPECT_EQ(in.text, "alice");
    });
}

TEST(sessions, give_nothing_of_one_user_to_another) {
    site s;
    run_virtually([&]() -> task<> {
        const visit in = co_await s.go("", [](http::session& of, http::request&) {
            of.set_bytes("cart", "1");
            of.log_in("ann");
            of.set_bytes("is_admin", "1");
            of.log_in("ann");
            return std::string(of.bytes("cart").value_or("-")) +
                   std::string(of.bytes("is_admin").value_or("-"));
        });
        EXPECT_EQ(in.text, "11");
        const visit other = co_await s.go(in.cookie, [](http::session& of, http::request&) {
            of.log_in("bob");
            return "";
        });
        const visit later = co_await s.go(other.cookie, [](http::session& of, http::request&) {
            return std::string(of.user()) + std::string(of.bytes("cart").value_or("-")) +
                   std::string(of.bytes("is_admin").value_or("-"));
        });
        EXPECT_EQ(later.text, "bob--");
    });
}

TEST(sessions, have_a_new_id_at_login) {
    site s;
    run_virtually([&]() -> task<> {
        const visit planted = co_await s.go("", site::put);
        const visit in = co_await s.go(planted.cookie, [](http::session& of, http::request&) {
            of.log_in("ann");
            return "";
        });
        EXPECT_NE(in.cookie, planted.cookie);
        const visit after =
            co_await s.go(in.cookie, [](http::session& of, http::request& req) -> std::string {
                const auto* const who = req.data<http::identity>();
                return site::show(of, req) + "/" + (who == nullptr ? "" : who->name);
            });
        EXPECT_EQ(after.text, "v/ann/ann");
        const visit attacker = co_await s.go(planted.cookie, site::show);
        EXPECT_EQ(attacker.text, "-/");
        // And wherever else the program wants one.
        const visit renewed = co_await s.go(in.cookie, [](http::session& of, http::request&) {
            of.renew();
            return "";
        });
        EXPECT_NE(renewed.cookie, in.cookie);
        const visit old = co_await s.go(in.cookie, site::show);
        EXPECT_EQ(old.text, "-/");
        const visit still = co_await s.go(renewed.cookie, site::show);
        EXPECT_EQ(still.text, "v/ann");
    });
}

TEST(sessions, are_not_brought_back_by_one_that_is_renewed_while_they_end) {
    auto store = std::make_shared<failing_store>();
    site s(kept_in(store));
    run_virtually([&]() -> task<> {
        const visit first = co_await s.go("", site::put);
        store->ends_meanwhile = true;
        const visit renewed = co_await s.go(first.cookie, [](http::session& of, http::request&) {
            of.renew();
            return "";
        });
        EXPECT_EQ(renewed.line, "");
        EXPECT_EQ(store->inner.size(), 0u);
    });
}

TEST(sessions, never_take_an_id_that_a_client_invents) {
    auto store = std::make_shared<failing_store>();
    site s(kept_in(store));
    run_virtually([&]() -> task<> {
        const std::string invented = "__Host-session=AAAAAAAAAAAAAAAAAAAAAA";
        const visit first = co_await s.go(invented, site::put);
        EXPECT_NE(first.cookie, invented);
        EXPECT_EQ(store->keys.size(), 1u);
        // One that is malformed is not even looked up.
        const std::vector<std::string> malformed = {
            std::string(),         std::string("A"),           std::string(21, 'A'),
            std::string(23, 'A'),  std::string(21, 'A') + "B", std::string(21, 'A') + "*",
            std::string(5000, 'A')};
        for (const std::string& bad : malformed) {
            const visit v = co_await s.go("__Host-session=" + bad, site::show);
            EXPECT_EQ(v.text, "-/") << bad;
        }
        EXPECT_EQ(store->keys.size(), 1u);
        // The store never sees an id.
        const visit known = co_await s.go(first.cookie, site::show);
        EXPECT_EQ(known.text, "v/");
        for (const std::string& key : store->keys) {
            EXPECT_EQ(key.size(), 43u);
            EXPECT_EQ(key.find(first.cookie.substr(15)), key.npos);
        }
    });
}

TEST(sessions, end_for_store_and_browser) {
    auto store = std::make_shared<failing_store>();
    site s(kept_in(store));
    run_virtually([&]() -> task<> {
        const visit first = co_await s.go("", site::put);
        EXPECT_EQ(store->inner.size(), 1u);
        const visit out = co_await s.go(first.cookie, [](http::session& of, http::request&) {
            of.end();
            return "";
        });
        EXPECT_EQ(out.line.substr(0, 16), "__Host-session=;");
        EXPECT_NE(out.line.find("Max-Age=0"), out.line.npos);
        EXPECT_EQ(store->inner.size(), 0u);
        // A value that is put after the end belongs to another session.
        const visit again = co_await s.go("", site::put);
        const visit fresh = co_await s.go(again.cookie, [](http::session& of, http::request& req) {
            of.end();
            of.set("flash", "bye");
            return site::show(of, req);
        });
        EXPECT_EQ(fresh.text, "-/");
        EXPECT_NE(fresh.cookie, again.cookie);
        EXPECT_EQ(store->inner.size(), 1u);
    });
}

TEST(sessions, are_gone_once_they_hold_nothing) {
    for (const bool renewed : {false, true}) {
        auto store = std::make_shared<failing_store>();
        site s(kept_in(store));
        run_virtually([&]() -> task<> {
            const visit first = co_await s.go("", site::put);
            EXPECT_EQ(store->inner.size(), 1u);
            const visit out = co_await s.go(first.cookie, [&](http::session& of, http::request&) {
                of.erase("k");
                if (renewed) of.renew();
                return "";
            });
            EXPECT_EQ(out.line.substr(0, 16), "__Host-session=;");
            EXPECT_EQ(store->inner.size(), 0u);
        });
    }
}

TEST(sessions, are_not_brought_back_by_a_request_that_was_under_way) {
    run_virtually([&]() -> task<> {
        // One request changes the session while another ends it: both go through middleware of
        // their own around one store.
        auto store = std::make_shared<http::memory_session_store>();
        http::session_options o = kept_in(store);
        const http::handler h =
            http::wrap(http::sessions(o), [](http::request& req) -> task<http::response> {
                http::session& mine = http::session::of(req);
                if (req.header("X-Do") == "end") {
                    mine.end();
                    co_return "ended";
                }
                co_await sleep_for(1s);
                mine.set("late", 1);
                if (req.header("X-Do") == "renew") mine.renew();
                if (req.header("X-Do") == "log in") mine.log_in("ann");
                co_return "late";
            });
        const auto try_to = [&](const char* does, std::size_t left) -> task<> {
            asked made("GET");
            co_await made.by(h);
            const std::string cookie = cookie_of(made.res);
            EXPECT_EQ(store->size(), 1u);
            const auto both = [&](task_group& group) -> task<> {
                group.spawn([&]() -> task<> {
                    asked late("GET", {{"Cookie", cookie}, {"X-Do", does}});
                    co_await late.by(h);
                    EXPECT_EQ(cookie_of(late.res).empty(), left == 0) << does;
                });
                group.spawn([&]() -> task<> {
                    co_await sleep_for(500ms);
                    asked end("GET", {{"Cookie", cookie}, {"X-Do", "end"}});
                    co_await end.by(h);
                });
                co_return;
            };
            co_await with_task_group(both);
            EXPECT_EQ(store->size(), left) << does;
        };
        co_await try_to("change", 0);
        co_await try_to("renew", 0);
        // That is a session of its own.
        co_await try_to("log in", 1);
    });
}

TEST(sessions, end_when_they_are_idle_and_when_they_are_old) {
    http::session_options o;
    o.idle = 10min;
    o.lifetime = 1h;
    o.persistent = true;
    site s(o);
    run_virtually([&]() -> task<> {
        const visit first = co_await s.go("", site::put);
        EXPECT_NE(first.line.find("Max-Age=3600"), first.line.npos) << first.line;
        co_await sleep_for(9min);
        const visit used = co_await s.go(first.cookie, site::show);
        EXPECT_EQ(used.text, "v/");
        co_await sleep_for(9min);
        const visit again = co_await s.go(first.cookie, site::show);
        EXPECT_EQ(again.text, "v/");
        co_await sleep_for(11min);
        const visit idle = co_await s.go(first.cookie, site::show);
        EXPECT_EQ(idle.text, "-/");

        const visit second = co_await s.go("", site::put);
        for (int i = 0; i != 8; ++i) {
            co_await sleep_for(7min);
            const visit v = co_await s.go(second.cookie, site::show);
            EXPECT_EQ(v.text, "v/") << i;
        }
        co_await sleep_for(5min);
        const visit old = co_await s.go(second.cookie, site::show);
        EXPECT_EQ(old.text, "-/");
        // A login begins it anew.
        const visit third = co_await s.go("", site::put);
        co_await sleep_for(9min);
        const visit in = co_await s.go(third.cookie, [](http::session& of, http::request&) {
            of.log_in("ann");
            return "";
        });
        EXPECT_NE(in.line.find("Max-Age=3600"), in.line.npos) << in.line;
    });
}

TEST(sessions, that_follow_one_that_was_too_old_have_their_whole_time) {
    http::session_options o;
    o.idle = 10min;
    o.lifetime = 1h;
    o.persistent = true;
    site s(o);
    run_virtually([&]() -> task<> {
        const visit old = co_await s.go("", site::put);
        for (int i = 0; i != 8; ++i) {
            co_await sleep_for(7min);
            co_await s.go(old.cookie, site::show);
        }
        co_await sleep_for(5min);
        const visit begun = co_await s.go(old.cookie, site::put);
        EXPECT_NE(begun.cookie, old.cookie);
        EXPECT_NE(begun.line.find("Max-Age=3600"), begun.line.npos) << begun.line;
        co_await sleep_for(5min);
        const visit kept = co_await s.go(begun.cookie, site::show);
        EXPECT_EQ(kept.text, "v/");
    });
}

TEST(sessions, bound_what_one_holds) {
    http::session_options o;
    o.longest = 100;
    site s(o);
    run_virtually([&]() -> task<> {
        const visit v = co_await s.go("", [](http::session& of, http::request&) {
            of.set("k", std::string(91, 'x'));  // 1 + 91 + 8
            EXPECT_EQ(of.get<std::string>("k")->size(), 91u);
            EXPECT_THROW(of.set("k", std::string(92, 'x')), exception);
            EXPECT_EQ(of.get<std::string>("k")->size(), 91u);
            EXPECT_THROW(of.set("l", 1), exception);
            of.erase("k");
            of.set("", std::string(92, 'x'));
            EXPECT_THROW(of.log_in("a"), exception);
            of.erase("");
            of.set("k", std::string(91, 'x'));
            EXPECT_THROW(of.log_in("a"), exception);
            EXPECT_EQ(of.user(), "");
            of.erase("k");
            of.log_in(std::string(100, 'u'));
            EXPECT_THROW(of.log_in(std::string(101, 'u')), exception);
            return "";
        });
        EXPECT_EQ(v.status, 200);
    });
}

TEST(sessions, refuse_or_go_on_while_the_store_fails) {
    auto store = std::make_shared<failing_store>();
    http::session_options o = kept_in(store);
    site closed(o);
    o.on_failure = http::store_failure::ignore;
    site open(o);
    run_virtually([&]() -> task<> {
        const visit first = co_await closed.go("", site::put);
        store->fails = true;
        const visit refused = co_await closed.go(first.cookie, site::show);
        EXPECT_EQ(refused.status, 503);
        const visit without = co_await closed.go("", site::show);
        EXPECT_EQ(without.status, 200);  // has nothing to do with the store
        const int saves = store->saves;
        const visit ignored =
            co_await open.go(first.cookie, [](http::session& of, http::request& r) {
                EXPECT_FALSE(of.is_kept());
                of.set("k", "other");
                return site::show(of, r);
            });
        EXPECT_EQ(ignored.status, 200);
        EXPECT_EQ(ignored.text, "other/");
        EXPECT_EQ(ignored.line, "");
        EXPECT_EQ(store->saves, saves);
        store->fails = false;
        store->fails_saves = true;
        const visit unsaved = co_await closed.go("", site::put);
        EXPECT_EQ(unsaved.status, 503);
        EXPECT_EQ(unsaved.line, "");
        const visit passed = co_await open.go("", site::put);
        EXPECT_EQ(passed.status, 200);
        EXPECT_EQ(passed.line, "");
        const auto end = [](http::session& of, http::request&) {
            of.end();
            return "";
        };
        const visit not_ended = co_await closed.go(first.cookie, end);
        EXPECT_EQ(not_ended.status, 503);
        store->fails_saves = false;
        const visit back = co_await closed.go(first.cookie, site::show);
        EXPECT_EQ(back.text, "v/");
    });
}

TEST(sessions, of_a_client_that_leaves_do_not_reach_the_handler) {
    auto store = std::make_shared<failing_store>();
    http::session_options o = kept_in(store);
    o.on_failure = http::store_failure::ignore;
    site s(o);
    run_virtually([&]() -> task<> {
        const visit first = co_await s.go("", site::put);
        store->waits = true;
        bool handled = false;
        const auto act = [&](http::session&, http::request&) {
            handled = true;
            return std::string();
        };
        const auto go = [&]() -> task<> { static_cast<void>(co_await s.go(first.cookie, act)); };
        EXPECT_FALSE(co_await as_result(with_timeout(10ms, go)));
        EXPECT_FALSE(handled);
    });
}

TEST(sessions, survive_any_bytes_in_the_store) {
    auto store = std::make_shared<failing_store>();
    site s(kept_in(store));
    run_virtually([&]() -> task<> {
        visit first = co_await s.go("", site::put);
        static_cast<void>(co_await s.go(first.cookie, site::show));
        const std::string key = *store->keys.begin();
        auto loading = store->inner.load(key, 1h);
        const auto good = co_await std::move(loading);
        EXPECT_TRUE(good && *good);
        const std::string data = **good;
        for (std::size_t i = 0; i != data.size(); ++i) {
            auto cutting = store->inner.save(key, std::string_view(data).substr(0, i), 1h,
                                             http::session_save::create);
            static_cast<void>(co_await std::move(cutting));
            const visit v = co_await s.go(first.cookie, site::show);
            // The user alone is a whole, too.
            EXPECT_EQ(v.text, "-/") << i;
        }
    });
}

TEST(sessions, refuse_options_that_are_wrong) {
    const auto refusal = [](auto change) {
        http::session_options o;
        change(o);
        return refusal_of([&] { http::sessions{o}; });
    };
    EXPECT_EQ(refusal([](auto& o) { o.idle = 0s; }), "idle");
    EXPECT_EQ(refusal([](auto& o) { o.lifetime = 0s; }), "lifetime");
    EXPECT_EQ(refusal([](auto& o) { o.lifetime = std::chrono::seconds::max(); }), "lifetime");
    EXPECT_EQ(refusal([](auto& o) { o.longest = 0; }), "longest");
    EXPECT_EQ(refusal([](auto& o) { o.path = "x"; }), "path");
    EXPECT_NE(refusal([](auto& o) { o.cookie = "a b"; }), "none");
    EXPECT_NE(refusal([](auto& o) {
                  o.cookie = "__Host-x";
                  o.secure = false;
              }),
              "none");
    EXPECT_EQ(refusal([](auto& o) { o.secure = false; }), "none");
    EXPECT_EQ(refusal_of([] { http::memory_session_store{{.sessions = 0}}; }), "sessions");
    EXPECT_EQ(refusal_of([] { http::memory_session_store{{.bytes = 0}}; }), "bytes");
    asked a("GET");
    EXPECT_EQ(http::session::find(a.req), nullptr);
    EXPECT_NE(refusal_of([&] { http::session::of(a.req); }), "none");
}

TEST(memory_session_store, has_room_for_as_many_as_it_says) {
    http::memory_session_store_options o;
    o.sessions = 31;
    run_virtually([&]() -> task<> {
        http::memory_session_store store(o);
        for (int i = 0; i != 2000; ++i) {
            const std::string key = "key " + std::to_string(i);
            auto saving = store.save(key, "data", 1h, http::session_save::create);
            EXPECT_TRUE((co_await std::move(saving)).has_value());
        }
        EXPECT_EQ(store.size(), 32u);
    });
}

TEST(memory_session_store, counts_what_it_has_wherever_memory_fails) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "no allocation fails in this build";
    }
    http::memory_session_store_options o;
    o.bytes = std::size_t{16} * 4000;
    run_virtually([&]() -> task<> {
        for (std::size_t n = 1; n != 20; ++n) {
            http::memory_session_store store(o);
            const auto save = [&](const char* key, std::size_t size) -> task<bool> {
                const std::string data(size, 'x');
                auto saving = store.save(key, data, 1h, http::session_save::create);
                co_return (co_await std::move(saving)).has_value();
            };
            bool saved = false;
            coracle::testing::fail_allocation(n);
            try {
                saved = co_await save("a", 3000);
            } catch (const std::bad_alloc&) {
                EXPECT_FALSE(coracle::testing::allocation_will_fail());
            }
            coracle::testing::fail_allocation(0);
            EXPECT_EQ(store.size(), saved ? 1u : 0u) << n;
        }
    });
}

TEST(memory_session_store, keeps_what_it_cannot_replace_for_want_of_memory) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "no allocation fails in this build";
    }
    run_virtually([&]() -> task<> {
        http::memory_session_store store;
        const std::string old(1000, 'a');
        const std::string replaced(1000, 'b');
        auto first = store.save("key", old, 1h, http::session_save::create);
        co_await std::move(first);
        bool failed = true;
        for (std::size_t n = 1; failed; ++n) {
            failed = false;
            coracle::testing::fail_allocation(n);
            try {
                auto second = store.save("key", replaced, 1h, http::session_save::replace);
                static_cast<void>(co_await std::move(second));
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            coracle::testing::fail_allocation(0);
            auto loading = store.load("key", 1h);
            const auto there = co_await std::move(loading);
            EXPECT_TRUE(there && *there && **there == (failed ? old : replaced)) << n;
        }
    });
}

TEST(memory_session_store, is_bounded_in_count_and_bytes) {
    http::memory_session_store_options o;
    o.sessions = 64;  // four for each lock
    http::memory_session_store few(o);
    o.sessions = 1'000'000;
    o.bytes = std::size_t{16} * 4000;
    http::memory_session_store small(o);
    run_virtually([&]() -> task<> {
        const std::string data(800, 'x');
        http::session_store* const both[] = {&few, &small};
        for (int i = 0; i != 1000; ++i) {
            const std::string key = std::to_string(i);
            for (http::session_store* const store : both) {
                auto saving = store->save(key, data, 1h, http::session_save::create);
                EXPECT_TRUE(co_await std::move(saving));
                // One that is in use stays.
                auto loading = store->load("0", 1h);
                EXPECT_TRUE(co_await std::move(loading));
            }
        }
        EXPECT_LE(few.size(), 64u);
        EXPECT_LE(small.size(), 64u);  // 1,000 bytes each
        EXPECT_GT(small.size(), 32u);
        EXPECT_EQ(few.dropped(), 1000 - few.size());
        auto loading = few.load("0", 1h);
        const auto used = co_await std::move(loading);
        EXPECT_TRUE(used && *used);
        // Those that have expired go first, and count not as dropped.
        const std::uint64_t before = few.dropped();
        co_await sleep_for(2h);
        for (int i = 0; i != 4; ++i) {
            const std::string key = "n" + std::to_string(i);
            auto saving = few.save(key, data, 1h, http::session_save::create);
            EXPECT_TRUE(co_await std::move(saving));
        }
        EXPECT_EQ(few.dropped(), before);
        auto replacing = few.save("none", data, 1h, http::session_save::replace);
        EXPECT_TRUE(co_await std::move(replacing));
        auto looking = few.load("none", 1h);
        const auto none = co_await std::move(looking);
        EXPECT_TRUE(none && !*none);
    });
}
