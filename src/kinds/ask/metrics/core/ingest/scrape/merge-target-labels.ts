/** A sample's own labels and its target's. */
import { Labels } from "../../../../promql/core/index.ts";

const exportedPrefix = "exported_";

/** `honor`: the sample's win. Otherwise the target's do, and the sample's are kept under another name. */
export function mergeTargetLabels(exposed: Labels, target: Labels, honor: boolean): Labels {
  const merged = new Map(exposed.entries());
  const conflicts: [name: string, value: string][] = [];
  for (const [name, value] of target.entries()) {
    const existing = merged.get(name);
    if (existing !== undefined) {
      if (honor) continue;
      conflicts.push([name, existing]);
    }
    merged.set(name, value);
  }
  // Shorter names first, so that a label that is called exported_x already keeps the shorter way.
  conflicts.sort(([a], [b]) => a.length - b.length);
  for (const [name, value] of conflicts) {
    let exported = `${exportedPrefix}${name}`;
    while (merged.has(exported)) exported = `${exportedPrefix}${exported}`;
    merged.set(exported, value);
  }
  return Labels.fromPairs([...merged]);
}
