#!/usr/bin/env bash
# Sourced by scripts whose brokers must know each other's ports before any of them listens.

port=$((20000 + RANDOM % 9000))

# Sets `port` to the next at which nobody listens, below those that the system gives to outgoing connections.
find_port() { while ((++port)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done; }
