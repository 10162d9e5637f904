/* Symmetric pseudo-likelihood of a Potts model with a ridge, by L-BFGS: the algorithm of GREMLIN (Kamisetty, Ovchinnikov and Baker 2013)
 * and CCMpred (Seemayer, Gruber and Soeding 2014), written plainly from those papers. One thread, single precision.
 *
 *   plm ALIGNMENT LAMBDA_FIELDS LAMBDA_COUPLINGS TARGET
 *
 * minimises  sum_n w_n sum_i -log P(x_ni | rest) + LAMBDA_FIELDS |h|^2 + LAMBDA_COUPLINGS sum_{i<j} |J_ij|^2
 * from 0 until the objective is at most TARGET; prints a line an iteration: processor seconds, objective.
 * Letters ARNDCQEGHILKMFPSTWYV-, one sequence a line; weights at 80 % identity are not counted in the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { Q = 21, MEMORY = 5, MOST = 10000, WIDE = 4096 };
static int n, L;
static unsigned char *x;
static float *w;
static double lh, lj;

static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
/* h: L x Q, then full J: [i][j][b of j][a of i], both orders kept equal */
static size_t size(void) { return (size_t)L * Q + (size_t)L * L * Q * Q; }
static float *block(float *v, int i, int j) { return v + (size_t)L * Q + ((size_t)i * L + j) * Q * Q; }

static double evaluate(float *v, float *g) {
    double f = 0;
    memset(g, 0, size() * sizeof(float));
    for (int s = 0; s < n; s++) {
        const unsigned char *seq = x + (size_t)s * L;
        for (int i = 0; i < L; i++) {
            float z[Q], sum = 0, top = -1e30f;
            for (int a = 0; a < Q; a++) z[a] = v[i * Q + a];
            for (int j = 0; j < L; j++) {
                if (j == i) continue;
                const float *row = block(v, i, j) + seq[j] * Q;
                for (int a = 0; a < Q; a++) z[a] += row[a];
            }
            for (int a = 0; a < Q; a++) top = z[a] > top ? z[a] : top;
            for (int a = 0; a < Q; a++) { z[a] = expf(z[a] - top); sum += z[a]; }
            f -= w[s] * logf(z[seq[i]] / sum);
            for (int a = 0; a < Q; a++) z[a] *= w[s] / sum;
            z[seq[i]] -= w[s];
            for (int a = 0; a < Q; a++) g[i * Q + a] += z[a];
            for (int j = 0; j < L; j++) {
                if (j == i) continue;
                float *row = block(g, i, j) + seq[j] * Q;
                for (int a = 0; a < Q; a++) row[a] += z[a];
            }
        }
    }
    for (int k = 0; k < L * Q; k++) { f += lh * v[k] * v[k]; g[k] += 2 * lh * v[k]; }
    for (int i = 0; i < L; i++)
        for (int j = i + 1; j < L; j++) {
            float *a = block(g, i, j), *b = block(g, j, i), *c = block(v, i, j);
            for (int p = 0; p < Q; p++)
                for (int q = 0; q < Q; q++) {
                    float t = c[p * Q + q];
                    f += lj * t * t;
                    a[p * Q + q] = b[q * Q + p] = a[p * Q + q] + b[q * Q + p] + 2 * lj * t;
                }
        }
    return f;
}

/* every coupling is stored twice: count it once */
static double dot(float *a, float *b) {
    double s = 0;
    for (int k = 0; k < L * Q; k++) s += (double)a[k] * b[k];
    for (size_t k = L * Q; k < size(); k++) s += 0.5 * (double)a[k] * b[k];
    return s;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    FILE *file = fopen(argv[1], "r");
    char line[WIDE];
    const char *letters = "ARNDCQEGHILKMFPSTWYV-";
    x = malloc((size_t)100000 * 1000);
    while (file && fgets(line, WIDE, file)) {
        int len = (int)strcspn(line, "\r\n");
        if (!len) continue;
        L = len;
        for (int i = 0; i < L; i++) { const char *p = strchr(letters, line[i]); x[(size_t)n * L + i] = p ? (unsigned char)(p - letters) : 20; }
        n++;
    }
    lh = atof(argv[2]); lj = atof(argv[3]);
    double target = atof(argv[4]);
    w = malloc(n * sizeof(float));
    for (int a = 0; a < n; a++) {
        int count = 0;
        for (int b = 0; b < n; b++) {
            int same = 0;
            for (int i = 0; i < L; i++) same += x[(size_t)a * L + i] == x[(size_t)b * L + i];
            count += same >= 0.8 * L - 1e-9;
        }
        w[a] = 1.0f / count;
    }
    size_t m = size();
    float *v = calloc(m, 4), *g = calloc(m, 4), *t = calloc(m, 4), *h = calloc(m, 4), *d = calloc(m, 4), *s[MEMORY], *y[MEMORY];
    double rho[MEMORY], alpha[MEMORY];
    for (int k = 0; k < MEMORY; k++) { s[k] = calloc(m, 4); y[k] = calloc(m, 4); }
    double start = cpu(), f = evaluate(v, g);
    int kept = 0, evaluations = 1;
    for (int it = 0; it < MOST; it++) {
        printf("%.3f %d %.6f\n", cpu() - start, evaluations, f);
        fflush(stdout);
        if (f <= target) return 0;
        for (size_t k = 0; k < m; k++) d[k] = -g[k];
        for (int k = 0; k < kept; k++) {
            alpha[k] = rho[k] * dot(s[k], d);
            for (size_t c = 0; c < m; c++) d[c] -= (float)alpha[k] * y[k][c];
        }
        double scale = kept ? 1 / (rho[0] * dot(y[0], y[0])) : 1 / sqrt(dot(g, g));
        for (size_t c = 0; c < m; c++) d[c] *= (float)scale;
        for (int k = kept - 1; k >= 0; k--) {
            double beta = rho[k] * dot(y[k], d);
            for (size_t c = 0; c < m; c++) d[c] += (float)(alpha[k] - beta) * s[k][c];
        }
        double slope = dot(g, d), step = 1, value = 0;
        for (int tries = 0; tries < 30; tries++, step *= 0.5) {
            for (size_t c = 0; c < m; c++) t[c] = v[c] + (float)step * d[c];
            value = evaluate(t, h);
            evaluations++;
            if (value <= f + 1e-4 * step * slope) break;
        }
        float *os = s[MEMORY - 1], *oy = y[MEMORY - 1];
        for (int k = MEMORY - 1; k > 0; k--) { s[k] = s[k - 1]; y[k] = y[k - 1]; rho[k] = rho[k - 1]; }
        s[0] = os; y[0] = oy;
        for (size_t c = 0; c < m; c++) { os[c] = t[c] - v[c]; oy[c] = h[c] - g[c]; }
        double sy = dot(os, oy);
        if (sy > 0) { rho[0] = 1 / sy; kept = kept < MEMORY ? kept + 1 : MEMORY; }
        else { for (int k = 0; k < MEMORY - 1; k++) { s[k] = s[k + 1]; y[k] = y[k + 1]; rho[k] = rho[k + 1]; } s[MEMORY - 1] = os; y[MEMORY - 1] = oy; }
        float *swap = v; v = t; t = swap;
        swap = g; g = h; h = swap;
        f = value;
    }
    return 1;
}
