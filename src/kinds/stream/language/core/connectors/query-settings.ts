/**
 * The settings of a query: `… INTO sink SET('side' AS "QUERY".LATE, …)`, and the same over HTTP.
 */
import { choice, duration, integer, type SettingDescriptor, text } from "./descriptor.ts";

export const querySettings: readonly SettingDescriptor[] = [
  {
    key: "LATE",
    type: choice("drop", "side", "fail"),
    default: "drop",
    description:
      "What happens to rows whose windows are all closed: they are dropped and counted, sent to LATE_SINK, or the query fails.",
  },
  {
    key: "LATE_SINK",
    type: text,
    description: "The sink that receives late rows and their lateness in milliseconds.",
  },
  {
    key: "IDLE_TIMEOUT",
    type: duration,
    default: 5000,
    description: "How long a live input without data holds the others back.",
  },
  {
    key: "PARALLELISM",
    type: integer(1, 256),
    default: 1,
    description:
      "How many instances run of each operator that has keys, on as many threads as there are cores.",
  },
  {
    key: "CHECKPOINT_INTERVAL",
    type: duration,
    default: 10_000,
    description: "The time between two checkpoints.",
  },
  {
    key: "CHECKPOINT_PAUSE",
    type: duration,
    default: 500,
    description:
      "On a cluster, the least time between the end of a checkpoint and the beginning of the next one, however long it took. A savepoint does not wait.",
  },
  {
    key: "CHECKPOINT_TIMEOUT",
    type: { kind: "duration", leastMs: 1_000 },
    default: 600_000,
    description:
      "How long a checkpoint may take, 1 second at least. On a cluster the query then goes on from the last complete one.",
  },
  {
    key: "CHECKPOINTS_KEPT",
    type: integer(1, 100),
    default: 1,
    description:
      "On a cluster, how many complete checkpoints are kept, the newest ones. Savepoints do not count.",
  },
  {
    key: "REPLACE_AFTER",
    type: duration,
    default: 10_000,
    description:
      "On a cluster, how long a worker may be out of reach before its fragments go to another one. Those of a source or sink that names its worker wait for it.",
  },
  {
    key: "BUFFER_SIZE",
    type: integer(64, 1_073_741_824),
    default: 262_144,
    description:
      "The size of read buffers in bytes, and the largest row without the content of its texts.",
  },
  {
    key: "MEMORY_LIMIT",
    type: integer(1_048_576, Number.MAX_SAFE_INTEGER),
    default: 1_073_741_824,
    description: "The most bytes that state, batches and buffers of the query may take.",
  },
];
