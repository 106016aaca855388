export { WorkBoard } from "./core/index.ts";
