/**
 * Stands for `capstan load-worker`: says how it was started, and goes on until it is asked to end.
 */
import { setInterval } from "node:timers";

const { CAPSTAN_CLUSTER_TOKEN: token, CAPSTAN_STORE: store } = process.env;
process.stdout.write(`${JSON.stringify({ args: process.argv.slice(2), token, store })}\n`);
process.once("SIGTERM", () => process.exit(0));
setInterval(() => undefined, 1_000);
