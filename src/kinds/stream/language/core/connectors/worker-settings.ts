/** What `CREATE WORKER name SET(… AS "WORKER".KEY)` can be told. */
import type { Position } from "../dialect-error.ts";
import type { AstSetting } from "../parse/ast.ts";
import type { Settings } from "../plan.ts";
import { integer, type SettingDescriptor, text } from "./descriptor.ts";
import { readSection, splitSettings } from "./read-settings.ts";

export const workerSettings: readonly SettingDescriptor[] = [
  {
    key: "HOST_NAME",
    type: text,
    description: "The host that the worker listens on; where it is absent, the worker's name.",
  },
  {
    key: "GRPC_PORT",
    type: integer(1, 65_535),
    description: "The port of the control session.",
  },
  {
    key: "DATA_PORT",
    type: integer(1, 65_535),
    description: "The port that rows of other workers arrive at.",
  },
  {
    key: "NUM_SLOTS",
    type: integer(0, 1_000_000),
    default: 1_000,
    description: "How many fragments of queries the worker may run.",
  },
  {
    key: "PEERS",
    type: text,
    description:
      "The workers that this one sends to, separated by commas; all of them where it is absent.",
  },
];

/** The settings of a worker, checked and with defaults filled in. */
export function readWorkerSettings(settings: readonly AstSetting[], position: Position): Settings {
  const given = splitSettings(settings, ["WORKER"]);
  return readSection(workerSettings, given, {}, "A worker", position);
}
