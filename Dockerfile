# DP Frontier as a service: `docker build --tag dp-frontier .`; docs/operate.md says how to run it.
# The first stage installs and compiles; the second has neither pip nor a compiler, and runs as an ordinary user.

ARG PYTHON=3.13

FROM docker.io/library/python:${PYTHON}-slim AS build
WORKDIR /app
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
ENV NUMBA_CACHE_DIR=/app/.numba_cache NUMBA_CPU_NAME=generic OMP_NUM_THREADS=1
COPY requirements.txt ./
RUN python -m venv --without-pip /opt/venv
RUN python -m pip --python /opt/venv install --only-binary :all: --requirement requirements.txt
RUN /opt/venv/bin/python -m compileall -q -j 0 /opt/venv
COPY LICENSE app.py server.py ./
COPY .streamlit .streamlit
COPY assets assets
COPY dpcore dpcore
COPY pages pages
COPY service service
COPY work work
RUN /opt/venv/bin/python -m compileall -q app.py server.py dpcore pages service work
RUN /opt/venv/bin/python -m work.warm

FROM docker.io/library/python:${PYTHON}-slim
RUN python -m pip uninstall --yes --quiet pip && useradd --system --uid 10001 --no-create-home dashboard
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
RUN mkdir -p /data && chown -R dashboard /data /app/.numba_cache
WORKDIR /app
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
ENV NUMBA_CACHE_DIR=/app/.numba_cache NUMBA_CPU_NAME=generic OMP_NUM_THREADS=1
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_PORT=8501 STREAMLIT_SERVER_HEADLESS=true
ENV DP_FRONTIER_LOG=json DP_FRONTIER_STORE=/data DP_FRONTIER_UPLOADS=off
USER dashboard
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-m", "service.health"]
CMD ["streamlit", "run", "server.py"]
