export { runWorker } from "./main.ts";
