/** The whole description of a physical source, as one text: no two sources have the same (SC7). */
import type { Settings } from "../../language/core/index.ts";
import { maskSecrets } from "./secrets.ts";

export interface DescribedSource {
  /** The logical source's id. */
  readonly sourceId: string;
  readonly workerId: string | null;
  readonly type: string;
  readonly config: Settings;
  readonly parser: Settings;
}

export function describeSource(source: DescribedSource): string {
  const { sourceId, workerId, config, parser } = source;
  const type = source.type.toUpperCase();
  // Secrets say how a source is reached, not which one it is.
  const shown = maskSecrets("source", type, config);
  return JSON.stringify([sourceId, workerId, type, sorted(shown), sorted(parser)]);
}

function sorted(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1)));
}
