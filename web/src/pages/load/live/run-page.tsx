/** One run: live while it goes on, its result from then on. */
import { Anchor, Skeleton } from "@mantine/core";
import { IconGaugeFilled } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { ApiError } from "../../../api/http.ts";
import { readTest } from "../../../api/load.ts";
import { Empty } from "../../../components/empty.tsx";
import { RunResult } from "../run/run-result.tsx";
import { useRefusedToken } from "../use-refused-token.ts";
import { LivePage } from "./live-page.tsx";
import { stageOf } from "./run-stage.ts";

export function RunPage({ id }: { readonly id: string }) {
  const queries = useQueryClient();
  const [isOver, setOver] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["load-live", id],
    queryFn: ({ signal }) => readTest(id, signal),
    // From here on the socket tells; without an answer it is asked again.
    refetchInterval: ({ state }) =>
      state.data === undefined && !isGone(state.error) ? 2_000 : false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  useRefusedToken(error);
  if (data === undefined) {
    return (
      <div className="card">{error === null ? <Loading /> : <Unreadable error={error} />}</div>
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

function Loading() {
  return (
    <div className="load-loading" role="status" aria-label="Loading the run">
      <Skeleton height={26} />
      <Skeleton height={90} />
    </div>
  );
}

function Unreadable({ error }: { readonly error: Error }) {
  const hint = error instanceof ApiError ? error.hint : undefined;
  return (
    <div role="alert">
      <Empty
        icon={IconGaugeFilled}
        title={isGone(error) ? "There is no such run" : "The run cannot be read"}
      >
        {isGone(error) ? (
          <span>It may have been deleted for its age.</span>
        ) : (
          <span>
            {error.message} {hint}
          </span>
        )}
        <Anchor component={Link} to="/load" size="sm">
          To all runs
        </Anchor>
      </Empty>
    </div>
  );
}
