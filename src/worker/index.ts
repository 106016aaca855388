/** The process that works. */
export { runWorker } from "./main.ts";
