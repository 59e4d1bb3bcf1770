#pragma once

#include "ws_command.hpp"
#include "ws_screen.hpp"

#include <coracle/http/client.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/websocket/connect.hpp>

#include <optional>
#include <string>

namespace coracle::tool {

/// One connection of `coracle ws`: from its handshake to the exit code.
class ws_session {
public:
    ws_session(const ws_settings& s, http::client& client, ws_screen& screen)
        : settings_(s), client_(client), screen_(screen) {}

    /// Completes when all has ended, and the terminal is as it was.
    task<int> run(signal_set& signals);

private:
    task<> talk(task_group& group);
    task<bool> connect();
    task<> receive_all();
    task<bool> note_message(const websocket::message& m);
    task<> send_lines();
    task<> send_typed();
    task<bool> type(char byte);
    task<> end_of_input();
    task<> ping_now_and_then();
    task<> note_interrupt(signal_set& signals);
    task<> note_time();

    void stop(int code, std::string why = {});
    void judge_end();
    duration linger() const noexcept;

    const ws_settings& settings_;
    http::client& client_;
    ws_screen& screen_;
    task_group* group_ = nullptr;
    std::optional<websocket::connection> ws_;
    std::optional<int> code_;  ///< once it is known why it ends
    std::string why_;          ///< for the user; empty: nothing to say
    time_point received_at_{};
    std::uint64_t received_ = 0;
    bool closing_ = false;  ///< for the end of the input
};

}  // namespace coracle::tool
