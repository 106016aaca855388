/** One run: live while it is running, then its result. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../../api/http.ts";
import { readTest } from "../../../api/load.ts";
import { Loading } from "../../../components/data-table.tsx";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { RunResult } from "../run/run-result.tsx";
import { UnreadableRun } from "../unreadable-run.tsx";
import { LivePage } from "./live-page.tsx";
import { stageOf } from "./run-stage.ts";

export function RunPage({ id }: { readonly id: string }) {
  const queries = useQueryClient();
  const [isOver, setOver] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["load-live", id],
    queryFn: ({ signal }) => readTest(id, signal),
    // Once there is an answer, the socket reports changes.
    refetchInterval: ({ state }) =>
      state.data === undefined && !isGone(state.error) ? 2_000 : false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  useRefusedToken(error);
  if (data === undefined) {
    return (
      <div className="card">
        {error === null ? <Loading label="The run" /> : <UnreadableRun error={error} />}
      </div>
    );
  }
  if (isOver || stageOf(data.live) === "ended") return <RunResult runId={id} />;
  const end = (): void => {
    void queries.invalidateQueries({ queryKey: ["load-tests"] });
    setOver(true);
  };
  return <LivePage test={data} onEnded={end} />;
}

function isGone(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}
