import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openScripted } from "../../catalog/testing/scripted-catalog.ts";
import { LiveFigures } from "../core/live-figures.ts";
import { readLive } from "./read-live.ts";

test("[SD60] a process that does not lead hears no figures, and a query that is not there has none", async (t) => {
  const { store, catalog } = await openScripted(sqliteFixture(), t);
  const parts = { store, catalog, figures: new LiveFigures(), clock: new VirtualClock() };
  const leads = { fence: 1, epoch: 1 } as never;
  await assert.rejects(readLive({ ...parts, lease: () => undefined }, "q"), { code: "not_leader" });
  await assert.rejects(readLive({ ...parts, lease: () => leads }, "q"), { code: "DoesNotExist" });
});
