/** The control stream metrics of interactive-queries.md. */

import type { Metrics } from "../observe/index.ts";
import type { SessionObserver } from "./core/index.ts";

export function createSessionMetrics(metrics: Metrics): SessionObserver {
  const active = metrics.gauge("control_streams_active", "Live control sessions of this process.");
  const rtt = metrics.histogram(
    "control_heartbeat_rtt_seconds",
    "Round trip of answered heartbeats.",
  );
  const missed = metrics.counter(
    "control_heartbeats_missed_total",
    "Heartbeats that were not answered by their deadline.",
  );
  const disconnects = metrics.counter(
    "control_disconnects_total",
    "Control sessions that ended, by cause.",
    ["cause"],
  );
  const failedDials = metrics.counter(
    "control_dial_failures_total",
    "Dials that never became a session, by cause.",
    ["cause"],
  );
  const reconnect = metrics.histogram(
    "control_reconnect_seconds",
    "From the loss of a worker's session to its next one.",
  );
  return {
    streamsActive: (count) => active.set(count),
    heartbeatAnswered: (_workerId, rttMs) => rtt.observe(rttMs / 1000),
    heartbeatMissed: () => missed.inc(),
    sessionUp(_workerId, reconnectMs) {
      if (reconnectMs !== undefined) reconnect.observe(reconnectMs / 1000);
    },
    sessionDown: (_workerId, cause) => disconnects.inc({ cause }),
    dialFailed: (cause) => failedDials.inc({ cause }),
  };
}
