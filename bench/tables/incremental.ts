/**
 * The same changes, taken over by an incremental refresh of one table and by a full one of another
 * with the same definition. Both are timed from the claim to the publication, and must hold the
 * same rows afterwards.
 */
import type { BenchOptions, Judged, Report } from "../report.ts";
import { LakeWorld } from "./lake-world.ts";
import { definitions, fillShop, type Shape, ShopChanges, type Spread } from "./shop.ts";

const shapes: readonly Shape[] = ["merge", "keys", "joined", "windowed"];
const shares = [0.001, 0.01, 0.1, 0.5];
const spreads: readonly Spread[] = ["uniform", "zipfian"];
/** The minimum speedup at the smallest share of changes. */
const goals: Readonly<Record<string, number>> = { merge: 20, keys: 5, joined: 5, windowed: 5 };

export async function benchIncremental({ rows, groups }: BenchOptions, report: Report) {
  for (const spread of spreads) {
    const world = await LakeWorld.open();
    try {
      await fillShop(world, { rows, groups });
      for (const shape of shapes) {
        for (const mode of ["INCREMENTAL", "FULL"]) {
          await world.createDynamic(tableOf(shape, mode), mode, definitions[shape]);
          await world.refresh(tableOf(shape, mode));
        }
      }
      const changes = new ShopChanges(world, { rows, groups });
      for (const share of shares) {
        const changed = await changes.make(share, spread);
        for (const shape of shapes) await compare(world, shape, { share, spread, changed }, report);
      }
    } finally {
      await world.close();
    }
  }
}

interface Change {
  readonly share: number;
  readonly spread: Spread;
  readonly changed: number;
}

async function compare(
  world: LakeWorld,
  shape: Shape,
  { share, spread, changed }: Change,
  report: Report,
): Promise<void> {
  const incremental = await world.refresh(tableOf(shape, "INCREMENTAL"));
  const full = await world.refresh(tableOf(shape, "FULL"));
  const times = full.ms / incremental.ms;
  const goal = share === shares[0] ? goals[shape] : undefined;
  const judged: Record<string, Judged> =
    goal === undefined ? {} : { times: { value: times, atLeast: goal } };
  report.figure(`incremental_${shape}_${spread}_${share * 100}%`, judged, {
    incremental_ms: incremental.ms,
    full_ms: full.ms,
    ...(goal === undefined ? { times } : {}),
    cpu_times: full.cpuMs / incremental.cpuMs,
    incremental_cpu_ms: incremental.cpuMs,
    full_cpu_ms: full.cpuMs,
    groups_changed: changed,
  });
  const [mine, whole] = await Promise.all([
    world.fingerprint(tableOf(shape, "INCREMENTAL")),
    world.fingerprint(tableOf(shape, "FULL")),
  ]);
  if (mine !== whole) {
    report.check(`same_${shape}_${spread}_${share * 100}%`, `${mine} instead of ${whole}`);
  }
}

function tableOf(shape: Shape, mode: string): string {
  return `${shape}_${mode.toLowerCase()}`;
}
