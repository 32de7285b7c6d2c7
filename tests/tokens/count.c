/* Prints the tokens of texts, for tokens.test.mjs. Each text of the input is preceded by its length
 * in bytes and a line break; each line of the output is a number. */
#include "model/tokens.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    size_t n;
    while (scanf("%zu", &n) == 1 && getchar() == '\n') {
        char *text = malloc(n + 1);
        if (!text || fread(text, 1, n, stdin) != n)
            return 1;
        printf("%zu\n", tokens_of((struct fumi_str){text, n}));
        free(text);
    }
    return ferror(stdin) || fflush(stdout);
}
