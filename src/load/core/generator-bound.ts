/**
 * Whether the generator, not the target, was what a run measured.
 *
 *   GB1  A run is bound by the generator when a tenth of its seconds were, as `generatorBoundReason` judges them.
 */
import { generatorBoundReason } from "./generator-health.ts";
import type { GeneratorHealth } from "./worker-snapshot.ts";

const shareMax = 0.1;

/** One for each second and worker of MEASUREMENT. */
export function isGeneratorBound(seconds: readonly GeneratorHealth[]): boolean {
  const bound = seconds.filter((second) => generatorBoundReason(second) !== null);
  return bound.length > 0 && bound.length >= shareMax * seconds.length;
}
