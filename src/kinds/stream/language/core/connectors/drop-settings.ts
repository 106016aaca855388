/** What `DROP QUERY q SET(…)` can be told. */
import type { Position } from "../dialect-error.ts";
import type { AstSetting } from "../parse/ast.ts";
import { choice, type SettingDescriptor } from "./descriptor.ts";
import { readSection, splitSettings } from "./read-settings.ts";

const dropSettings: readonly SettingDescriptor[] = [
  {
    key: "MODE",
    type: choice("soft", "hard", "graceful", "forceful"),
    description:
      "Whether what was read reaches the sinks (soft, graceful) or the query ends at once.",
  },
];

/** How the query stops; `undefined` where nothing is said of it. */
export function readDropSettings(
  settings: readonly AstSetting[],
  position: Position,
): "SOFT" | "HARD" | undefined {
  const given = splitSettings(settings, ["QUERY"]);
  const { MODE } = readSection(dropSettings, given, {}, "DROP QUERY", position);
  if (MODE === undefined) return undefined;
  return MODE === "soft" || MODE === "graceful" ? "SOFT" : "HARD";
}
