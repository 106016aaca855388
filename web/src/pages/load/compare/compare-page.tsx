/** Runs side by side: which is better, and how certain that is. */
import { Anchor, Button, Skeleton, Title } from "@mantine/core";
import { IconArrowLeft, IconScale } from "@tabler/icons-react";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import type { RunComparison, TestDetail } from "../../../api/gen/types.ts";
import { ApiError, readJson, request } from "../../../api/http.ts";
import { readMetrics, testPath } from "../../../api/load.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { Empty } from "../../../components/empty.tsx";
import { seriesColour } from "../../../components/plot-axes.ts";
import { formatLatency, formatMoment, formatRate, unknown } from "../../../format.ts";
import { runHref } from "../links.ts";
import "../run/run.css";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { seriesOf } from "../run/run-series.ts";
import { RunStatusSign } from "../run/run-sign.tsx";
import "./compare.css";
import { CompareCharts, type ComparedSeries } from "./compare-charts.tsx";
import { idsOf, letterOf, withBase } from "./compare-view.ts";
import { ComparisonCard, VerdictsCard } from "./comparison-card.tsx";
import { parseHgrm } from "./overlay.ts";

export function ComparePage() {
  const [search] = useSearchParams();
  const ids = idsOf(search);
  if (ids.length < 2) {
    return (
      <div className="card">
        <Empty icon={IconScale} title="Choose two runs to compare">
          <span>Tick them in the list of runs, or use “Compare with…” on a run’s page.</span>
          <Anchor component={Link} to="/load" size="sm">
            To all runs
          </Anchor>
        </Empty>
      </div>
    );
  }
  return <Comparison key={ids.join()} ids={ids} />;
}

function Comparison({ ids }: { readonly ids: readonly string[] }) {
  const compared = useQuery({
    queryKey: ["load-compare", ids],
    queryFn: ({ signal }) =>
      readJson<{ readonly comparisons: readonly RunComparison[] }>(
        `/api/tests/compare?ids=${ids.map(encodeURIComponent).join(",")}`,
        { signal },
      ),
    retry: false,
  });
  const tests = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["load-test", id],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        readJson<TestDetail>(testPath(id), { signal }),
      retry: false,
    })),
  });
  useRefusedToken(compared.error);
  if (compared.error !== null) return <Unreadable error={compared.error} />;
  if (compared.data === undefined) {
    return (
      <div className="run" role="status" aria-label="Comparing">
        <Skeleton height={34} width={260} />
        <Skeleton height={120} />
        <Skeleton height={220} />
      </div>
    );
  }
  const base = letterOf(0);
  return (
    <div className="run">
      <Anchor component={Link} to="/load" size="sm" className="run-back">
        <IconArrowLeft size={14} /> Runs
      </Anchor>
      <Title order={2} className="run-title">
        Comparison of {ids.length} runs
      </Title>
      <Runs ids={ids} tests={tests.map(({ data }) => data)} />
      <VerdictsCard comparisons={compared.data.comparisons} />
      <Charts ids={ids} />
      {compared.data.comparisons.map((comparison, index) => (
        <ComparisonCard
          key={comparison.run_id}
          comparison={comparison}
          base={base}
          letter={letterOf(index + 1)}
        />
      ))}
    </div>
  );
}

interface RunsProps {
  readonly ids: readonly string[];
  readonly tests: readonly (TestDetail | undefined)[];
}

function Runs({ ids, tests }: RunsProps) {
  const rows = ids.map((id, index) => ({ id, index, run: tests[index] }));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      title: "Letter",
      isTitleHidden: true,
      className: "compared-letter",
      cell: ({ index }) => (
        <>
          <span
            className="compared-sign"
            style={{ background: seriesColour(index) }}
            aria-hidden="true"
          />
          {letterOf(index)}
        </>
      ),
    },
    {
      title: "Run",
      cell: ({ id, run }) => (
        <>
          <Anchor component={Link} to={runHref(id)} size="sm" className="run-strong">
            {run?.test_name ?? id}
          </Anchor>
          <div className="dim row-small">
            {run?.start_time_ms == null ? unknown : formatMoment(run.start_time_ms)}
          </div>
        </>
      ),
    },
    { title: "State", cell: ({ run }) => run && <RunStatusSign status={run.status} /> },
    { title: "Ops/s", className: "num from-sm", cell: ({ run }) => formatRate(run?.qps) },
    {
      title: "p95",
      className: "num from-sm",
      cell: ({ run }) => formatLatency(run?.p95_latency_ms),
    },
    {
      title: "Base",
      isTitleHidden: true,
      className: "num",
      cell: ({ id, index }) =>
        index === 0 ? (
          <span className="dim">base</span>
        ) : (
          <Button component={Link} to={withBase(ids, id)} variant="subtle" size="compact-xs">
            Make it the base
          </Button>
        ),
    },
  ];
  return (
    <div className="card">
      <DataTable
        label="Compared runs"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        rowProps={({ id }) => ({ "data-run": id })}
      />
    </div>
  );
}

function Charts({ ids }: { readonly ids: readonly string[] }) {
  const { data, error } = useQuery({
    queryKey: ["load-compare-charts", ids],
    queryFn: ({ signal }) => Promise.all(ids.map((id) => readSeries(id, signal))),
    retry: false,
  });
  const runs = useMemo(() => data ?? [], [data]);
  if (data === undefined) {
    return (
      <div className="card run-waiting">
        {error === null ? (
          <Skeleton height={180} />
        ) : (
          <p className="dim">Charts cannot be drawn: {error.message}</p>
        )}
      </div>
    );
  }
  return <CompareCharts runs={runs} />;
}

async function readSeries(id: string, signal: AbortSignal): Promise<ComparedSeries> {
  const [{ items }, hgrm] = await Promise.all([
    readMetrics(id, signal),
    request(testPath(id, "/report.hgrm"), { signal }),
  ]);
  return { series: seriesOf(items), distribution: parseHgrm(await hgrm.text()) };
}

function Unreadable({ error }: { readonly error: Error }) {
  const isAbsent = error instanceof ApiError && error.status === 404;
  return (
    <div className="card" role="alert">
      <Empty
        icon={IconScale}
        title={isAbsent ? "One of the runs is not there" : "The runs cannot be compared"}
      >
        <span>{error.message}</span>
        <Anchor component={Link} to="/load" size="sm">
          To all runs
        </Anchor>
      </Empty>
    </div>
  );
}
