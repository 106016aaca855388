import { useEffect, useState } from "react";
import type { LiveQuery } from "../../../api/gen/types.ts";
import { type SeenOutput, silenceOf, stepOutputs } from "./silence.ts";

/** Why no rows come out of a query, as far as this page has seen. `lives` is new at each look. */
export function useSilence(lives: ReadonlyMap<string, LiveQuery>): (queryId: string) => string {
  const [outputs, setOutputs] = useState<ReadonlyMap<string, SeenOutput>>(new Map());
  useEffect(() => setOutputs((before) => stepOutputs(before, lives)), [lives]);
  return (queryId) => {
    const live = lives.get(queryId);
    return live === undefined ? "" : silenceOf(live, outputs.get(queryId));
  };
}
