/** Merges a sample's own labels with its target's. */
import { Labels } from "../../../../promql/core/index.ts";

const exportedPrefix = "exported_";

/**
 * With `honor`, the sample's labels win. Otherwise the target's win, and the sample's are renamed.
 */
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
  // Shorter names first, so that a label already called exported_x keeps the shorter new name.
  conflicts.sort(([a], [b]) => a.length - b.length);
  for (const [name, value] of conflicts) {
    let exported = `${exportedPrefix}${name}`;
    while (merged.has(exported)) exported = `${exportedPrefix}${exported}`;
    merged.set(exported, value);
  }
  return Labels.fromPairs([...merged]);
}
