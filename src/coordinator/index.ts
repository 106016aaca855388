/** The process that coordinates, and the one that only answers queries. */
export { runController } from "./main.ts";
