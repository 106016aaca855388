export { KeyedQueue, Loop } from "./core/index.ts";
export { runSteps } from "./run-steps.ts";
