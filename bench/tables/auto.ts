/**
 * AUTO beside FULL, over the same changes, most of them too large for an incremental refresh to
 * pay. It has to learn that, and what it learns with costs: the sum of all refreshes is what
 * counts.
 */
import type { BenchOptions, Report } from "../report.ts";
import { LakeWorld } from "./lake-world.ts";
import { definitions, fillShop, type Shape, ShopChanges } from "./shop.ts";

const shapes: readonly Shape[] = ["merge", "keys"];
const shares = [0.5, 0.5, 0.001, 0.5, 0.1, 0.5, 0.01, 0.5, 0.5, 0.5];
const atMost = 1.1;

export async function benchAuto({ rows, groups }: BenchOptions, report: Report): Promise<void> {
  const world = await LakeWorld.open();
  try {
    await fillShop(world, { rows, groups });
    for (const shape of shapes) {
      await world.createDynamic(`${shape}_auto`, "AUTO", definitions[shape]);
      await world.createDynamic(`${shape}_full`, "FULL", definitions[shape]);
      await world.refresh(`${shape}_auto`);
      await world.refresh(`${shape}_full`);
    }
    const changes = new ShopChanges(world, { rows, groups });
    const spent = new Map(
      shapes.map((shape) => [shape, { auto: 0, full: 0, autoCpu: 0, fullCpu: 0, incremental: 0 }]),
    );
    for (const share of shares) {
      await changes.make(share, "uniform");
      for (const [shape, sums] of spent) {
        const auto = await world.refresh(`${shape}_auto`);
        const full = await world.refresh(`${shape}_full`);
        sums.auto += auto.ms;
        sums.full += full.ms;
        sums.autoCpu += auto.cpuMs;
        sums.fullCpu += full.cpuMs;
        if (auto.action === "INCREMENTAL") sums.incremental += 1;
      }
    }
    for (const [shape, { auto, full, autoCpu, fullCpu, incremental }] of spent) {
      report.figure(
        `auto_${shape}`,
        { ratio: { value: auto / full, atMost } },
        {
          auto_ms: auto,
          full_ms: full,
          cpu_ratio: autoCpu / fullCpu,
          refreshes: shares.length,
          incremental,
        },
      );
    }
  } finally {
    await world.close();
  }
}
