export { KeyedQueue } from "./keyed-queue.ts";
export { Loop } from "./loop.ts";
