/**
 * A scenario as people write and read it, in templates, the store, answers and reports: the fields
 * of `Scenario` in snake_case.
 */
import { camelKeys, type SnakeKeys, snakeKeys } from "../../../ground/kernel/key-case.ts";
import type { OperationConfig, Scenario } from "./scenario.ts";

export type WrittenScenario = SnakeKeys<Scenario>;

/** Names of parameters belong to whoever wrote the operation. */
const dictionaries = ["parameters"];

export function writeScenario(scenario: Scenario): WrittenScenario {
  return snakeKeys(scenario, dictionaries);
}

export function readScenario(written: WrittenScenario): Scenario {
  return camelKeys<Scenario>(written, dictionaries);
}

export function readOperation(written: SnakeKeys<OperationConfig>): OperationConfig {
  return camelKeys<OperationConfig>(written, dictionaries);
}
