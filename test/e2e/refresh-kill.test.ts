import { after, test } from "node:test";
import { stopEverything } from "./harness.ts";
import { runKillLoop } from "./kill-loop.ts";

after(stopEverything);

test("[TE2] processes killed at any moment lose no row and publish nothing twice", async (t) => {
  t.diagnostic(await runKillLoop({ kills: 10 }));
});
