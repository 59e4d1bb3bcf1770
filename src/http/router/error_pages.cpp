#include "http/router/router_state.hpp"
#include "http/transport_security.hpp"

namespace coracle::http::detail {
namespace {

/// The page that an answer lacks, or null.
const handler* missing_page(const route_table& table, const request& req, const response& answer) {
    if (answer.body().type() != body::kind::empty) return nullptr;
    return table.page_for(answer.status(), req.path());
}

/// The answer to a `status_error` without a text, when there is a page for it.
bool becomes_page(const route_table& table, const request& req, const status_error& e) {
    return *e.what() == '\0' && table.page_for(e.code(), req.path()) != nullptr;
}

response thrown_answer(const request& req, const status_error& e) {
    response answer(e.code());
    add_transport_security(req, answer);
    return answer;
}

void put_page(response& answer, response page) {
    for (const field& f : page.fields()) answer.fields().remove(f.name);
    for (const field& f : page.fields()) answer.fields().add(f.name, f.value);
    answer.set_body(std::move(page.body()), page.default_type());
}

task<response> put_page_later(response answer, task<response> page) {
    response made = co_await std::move(page);
    put_page(answer, std::move(made));
    co_return answer;
}

task<response> with_page(const route_table* table, request* req, task<response> work) {
    response answer;
    try {
        answer = co_await std::move(work);
    } catch (const status_error& e) {
        if (!becomes_page(*table, *req, e)) throw;
        answer = thrown_answer(*req, e);
    }
    const handler* const page = missing_page(*table, *req, answer);
    if (page == nullptr) co_return answer;
    response made = co_await (*page)(*req);
    put_page(answer, std::move(made));
    co_return answer;
}

bool answer_without_pages(const served_table::content& content, request& req, response& answer,
                          task<response>& pending) {
    return content.chain ? content.chain.call(req, answer, pending)
                         : dispatch(content.table, req, answer, pending);
}

}  // namespace

bool answer_with_pages(const served_table::content& content, request& req, response& answer,
                       task<response>& pending) {
    try {
        if (!answer_without_pages(content, req, answer, pending)) {
            pending = with_page(&content.table, &req, std::move(pending));
            return false;
        }
    } catch (const status_error& e) {
        if (!becomes_page(content.table, req, e)) throw;
        answer = thrown_answer(req, e);
    }
    const handler* const page = missing_page(content.table, req, answer);
    if (page == nullptr) return true;
    response made;
    task<response> making;
    if (!page->call(req, made, making)) {
        pending = put_page_later(std::move(answer), std::move(making));
        return false;
    }
    put_page(answer, std::move(made));
    return true;
}

}  // namespace coracle::http::detail
