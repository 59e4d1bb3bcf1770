#include "base/decimal.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/task_dump.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace coracle {
namespace {

using detail::context;

struct report {
    std::string text;
    std::size_t tasks = 0;
    time_point now;
};

void add_duration(std::string& out, duration d) {
    const double seconds = std::chrono::duration<double>(d).count();
    const bool is_short = seconds < 1;
    detail::append_decimal(out, is_short ? seconds * 1000 : seconds, 1);
    out += is_short ? " ms" : " s";
}

void add_state(report& r, context& c) {
    if (c.waiting() != nullptr) {
        r.text += "waits for ";
        r.text += c.waiting()->waits_for();
        r.text += ", ";
        add_duration(r.text, r.now - c.waiting_since());
    } else if (!c.children().empty()) {
        r.text += "waits for the tasks below";
    } else {
        r.text += "ready to run";
    }
    if (c.cancelled()) r.text += " (asked to stop)";
}

void add_line(report& r, context& c, std::size_t depth) {
    constexpr std::size_t deepest = 32;
    ++r.tasks;
    r.text.append(2 * std::min(depth, deepest), ' ');
    if (depth > deepest) r.text.append("(level ").append(std::to_string(depth)).append(") ");
    r.text.append(c.name).append(": ");
    add_state(r, c);
    r.text += '\n';
}

/// Contexts nest as deep as tasks do, so this is no recursion.
void add_tree(report& r, context& root) {
    std::vector<context*> parents{&root};
    context* c = root.children().front();
    while (!parents.empty()) {
        if (c != nullptr) {
            add_line(r, *c, parents.size());
            parents.push_back(c);
            c = c->children().front();
            continue;
        }
        c = parents.back();
        parents.pop_back();
        if (!parents.empty()) c = parents.back()->children().next(*c);
    }
}

}  // namespace

std::string dump_tasks(loop& l) {
    report r;
    r.now = l.now();
    add_tree(r, l.root());
    std::string head = "loop " + std::to_string(l.index()) + " (" +
                       std::string(l.backend().name()) + "): " + std::to_string(r.tasks) +
                       (r.tasks == 1 ? " task, " : " tasks, ") + std::to_string(l.timers()) +
                       (l.timers() == 1 ? " timer\n" : " timers\n");
    return head + r.text;
}

}  // namespace coracle
