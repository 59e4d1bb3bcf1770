#include "http/error_style.hpp"
#include "http/exchange/content_fields.hpp"
#include "http/exchange/failure.hpp"
#include "http/router/router_state.hpp"

namespace coracle::http::detail {
namespace {

/// Returns the page for a response without a body, or null.
const handler* missing_page(const route_table& table, const request& req, const response& out) {
    if (out.body().type() != body::kind::empty) return nullptr;
    return table.page_for(out.status(), req.path());
}

/// The fields about the content that is replaced are not about the page.
void put_page(response& out, response page) {
    const bool is_of_range = out.status() == status::range_not_satisfiable;
    drop_content_fields(out.fields(),
                        is_of_range ? std::optional(field_id::content_range) : std::nullopt);
    for (const char* const name : {"ETag", "Last-Modified", "Accept-Ranges", "Trailer"}) {
        out.fields().remove(name);
    }
    for (const field& f : page.fields()) out.fields().remove(f.name);
    for (const field& f : page.fields()) out.fields().add(f);
    out.set_body(std::move(page.body()), page.default_type());
}

task<response> put_page_later(response out, task<response> page) {
    response made = co_await std::move(page);
    put_page(out, std::move(made));
    co_return out;
}

task<response> with_style(const route_table* table, request* req, task<response> work) {
    response out;
    std::exception_ptr thrown;
    try {
        out = co_await std::move(work);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown != nullptr) out = failed_response(*req, thrown);
    const handler* const page = missing_page(*table, *req, out);
    if (page != nullptr) {
        response made = co_await (*page)(*req);
        put_page(out, std::move(made));
    } else if (table->problems) {
        become_problem(out);
    }
    co_return out;
}

/// Unless an error page makes the body.
void make_problem(const route_table& table, const request& req, response& out) {
    if (missing_page(table, req, out) == nullptr) become_problem(out);
}

task<response> with_problem(const route_table* table, const request* req, task<response> work) {
    response out = co_await std::move(work);
    make_problem(*table, *req, out);
    co_return out;
}

bool respond_without_style(const served_table::content& content, request& req, response& out,
                           task<response>& pending) {
    return content.chain ? content.chain.call(req, out, pending)
                         : dispatch(content.table, req, out, pending);
}

}  // namespace

bool respond_with_problems(const route_table& table, request& req, response& out,
                           task<response>& pending) {
    if (!dispatch(table, req, out, pending)) {
        pending = with_problem(&table, &req, std::move(pending));
        return false;
    }
    make_problem(table, req, out);
    return true;
}

bool respond_with_style(const served_table::content& content, request& req, response& out,
                        task<response>& pending) {
    req.set_error_style(&content.table);
    try {
        if (!respond_without_style(content, req, out, pending)) {
            pending = with_style(&content.table, &req, std::move(pending));
            return false;
        }
    } catch (...) {
        out = failed_response(req, std::current_exception());
    }
    const handler* const page = missing_page(content.table, req, out);
    if (page == nullptr) {
        if (content.table.problems) become_problem(out);
        return true;
    }
    response made;
    task<response> making;
    if (!page->call(req, made, making)) {
        pending = put_page_later(std::move(out), std::move(making));
        return false;
    }
    put_page(out, std::move(made));
    return true;
}

}  // namespace coracle::http::detail
