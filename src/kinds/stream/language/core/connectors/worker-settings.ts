/** What `CREATE WORKER name SET(… AS KEY)` or `"WORKER".KEY` can be told. */
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
    key: "DATA",
    type: text,
    description: "The same as an address, `host:port`.",
  },
  {
    key: "NUM_SLOTS",
    type: integer(0, 1_000_000),
    default: 1_000,
    description: "How many fragments of queries the worker may run.",
  },
  {
    key: "CAPACITY",
    type: integer(0, 1_000_000),
    description: "Another name of NUM_SLOTS.",
  },
  {
    key: "NAME",
    type: text,
    description: "What the worker is called; where it is absent, `host:port`.",
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
  const given = splitSettings(settings.map(inSection), ["WORKER"]);
  return readSection(workerSettings, given, {}, "A worker", position);
}

/** `'w2' AS PEERS` is what `'w2' AS "WORKER".PEERS` is. */
function inSection(setting: AstSetting): AstSetting {
  const [only, ...more] = setting.path;
  if (only === undefined || more.length > 0) return setting;
  return { ...setting, path: [{ ...only, text: "WORKER" }, only] };
}
