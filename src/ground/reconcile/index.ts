export { KeyedQueue } from "./core/index.ts";
