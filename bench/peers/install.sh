#!/bin/sh
# Install the peers of R into bench/results/R, from their public sources; run as root on Debian.
set -eu
library=$(cd "$(dirname "$0")/.." && mkdir -p results/R && cd results/R && pwd)
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
apt-get install -y --no-install-recommends g++ git libglpk-dev make r-base-core $(
    for name in assertthat bslib cli cowplot data.table digest dplyr furrr future ggplot2 htmltools \
        htmlwidgets jsonlite knitr lifecycle mass matrix nloptr progress promises purrr rcolorbrewer \
        rcpp rdpack rglpk rlang rmarkdown sass shiny shinyjs shinythemes slam stringr tibble tidyr yaml
    do echo "r-cran-$name"; done
)
# sdcTable 0.32.7 is the last that needs no compilation of HiGHS; cellKey takes its cube alone.
for source in cran/glpkAPI cran/SSBtools cran/shinyTree cran/flexdashboard cran/sdcHierarchies \
    cran/sdcTable@0.32.7 cran/ptable cran/cellKey InseeFrLab/ckm
do
    name=${source%@*}
    case $source in *@*) version="--branch ${source#*@}" ;; *) version= ;; esac
    git clone --depth 1 $version "https://github.com/$name" "$sources/${name#*/}"
    R_LIBS=$library R CMD INSTALL --no-docs -l "$library" "$sources/${name#*/}"
done
